// The documents server as a process: its start, its end, its descriptors, and what it writes where.

import { mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { RpcProcess } from "../../support/rpc.js";
import { ask, grant, newId, place, readBack, SECRET, save } from "./place.js";

const { root, launch, start, faulty, source, reports, log, pipe } = place();
const report = { filename: "a.md", content: "text\n" };

describe("what keeps it from starting is one line on stderr and exit code 1 (documents-serve-1)", () => {
  const named = "cannot open the folder that DOCUMENTS_ROOT names";
  test.each<[string, Record<string, string>, string]>([
    ["no root", { DOCUMENTS_ROOT: "" }, "DOCUMENTS_ROOT is not set, expected the folder that holds `sources`"],
    ["a root that is not there", { DOCUMENTS_ROOT: "/nowhere/at/all" }, `${named}: it does not exist`],
    ["a root that is a file", { DOCUMENTS_ROOT: "/etc/passwd" }, `${named}: it is a link or no directory`],
    ["no secret", { DOCUMENTS_SECRET: "" }, "DOCUMENTS_SECRET has 0 characters, expected at least 32"],
    [
      "a short secret",
      { DOCUMENTS_SECRET: "x".repeat(31) },
      "DOCUMENTS_SECRET has 31 characters, expected at least 32",
    ],
    [
      "16 characters that are 64 bytes",
      { DOCUMENTS_SECRET: "👋".repeat(16) },
      "DOCUMENTS_SECRET has 16 characters, expected at least 32",
    ],
  ])("%s", async (_what, env, line) => {
    const server = launch(env);
    expect(await server.ended).toEqual({ code: 1, signal: null });
    expect(server.stderr()).toBe(`documents: ${line}\n`);
    expect(server.lines).toEqual([]);
    expect(log()).toEqual([]);
  });

  test.each(["sources", "reports", ".operations"])(
    "`%s` that is a link to a folder (documents-folder-5)",
    async (name) => {
      mkdirSync(join(root(), "real"));
      rmSync(join(root(), name), { recursive: true, force: true });
      symlinkSync("real", join(root(), name));
      const server = launch();
      expect(await server.ended).toEqual({ code: 1, signal: null });
      expect(server.stderr()).toBe(`documents: cannot open \`${name}\`: it is a link or no directory\n`);
      expect(readdirSync(join(root(), "real"))).toEqual([]);
    },
  );
});

describe("the end (documents-stdio-1) (documents-serve-2)", () => {
  /** What tells the eras apart when a call is the first that is written. */
  const metas = {
    "2025-11-25": {},
    "2026-07-28": {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1.0.0" },
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  } as const;

  test.each(["2026-07-28", "2025-11-25"] as const)(
    "%s: a save whose last byte is followed by the end of stdin is carried out and answered",
    async (era) => {
      const server = launch();
      const id = newId();
      const approval_token = await grant(report, id);
      const params = { name: "save_report", arguments: { ...report, approval_token }, _meta: metas[era] };
      server.send({ id: 1, method: "tools/call", params });
      expect(await server.end()).toEqual({ code: 0, signal: null });
      expect(server.lines.map((line) => JSON.parse(line).result.structuredContent.status)).toEqual(["ok"]);
      expect(reports()).toEqual({ "a.md": "text\n" });
      expect(server.stderr()).toBe("");
    },
  );

  test("SIGTERM in the middle of a save: it is finished and answered first, then the process ends by itself", async () => {
    const { path, held } = pipe();
    const server = await faulty("hold-after-create", { DOCUMENTS_HOLD: path });
    const answer = save(server, report);
    const gate = await held();
    process.kill(server.pid, "SIGTERM");
    await gate.close();
    expect((await answer).status).toBe("ok");
    expect(await server.ended).toEqual({ code: 0, signal: null }); // stdin is still open
    expect(reports()).toEqual({ "a.md": "text\n" });
  });

  test.each(["SIGTERM", "SIGINT"] as const)("%s with nothing to do ends it", async (signal) => {
    const server = await start();
    process.kill(server.pid, signal);
    expect(await server.ended).toEqual({ code: 0, signal: null });
  });

  test("a message that is no JSON, and one of 11 MB, are not answered; the second ends it, without a word on stdout", async () => {
    const server = await start();
    server.write("this is no JSON\n");
    expect((await ask(server, "search_documents", { query: "x" })).status).toBe("ok");
    const lines = server.lines.length;
    server.write(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":"${"x".repeat(11_000_000)}"}\n`);
    expect((await server.ended).code).toBe(0);
    expect(server.lines.length).toBe(lines);
  });
});

describe("descriptors", () => {
  const open = ({ pid }: RpcProcess): string[] =>
    readdirSync(`/proc/${pid}/fd`)
      .map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`))
      .filter((path) => path.startsWith(root()))
      .map((path) => path.slice(root().length))
      .sort();

  test("four directories are held, and whatever is called, nothing is added", async () => {
    source("a.md", "needle\n");
    symlinkSync("a.md", join(root(), "sources/link.md"));
    const server = await start();
    const held = ["", "/.operations", "/reports", "/sources"];
    expect(open(server)).toEqual(held);
    const all = (): number => readdirSync(`/proc/${server.pid}/fd`).length;
    const round = async (n: number) => {
      const id = newId();
      await save(server, { filename: `r${n}.md`, content: "text" }, id);
      await save(server, { filename: "r0.md", content: "text" });
      await save(server, report, id);
      await readBack(server, id);
      await readBack(server, newId());
      await ask(server, "search_documents", { query: "needle" });
      for (const filename of ["a.md", "link.md", "absent.md", "../a.md"])
        await ask(server, "read_document", { filename });
    };
    await round(0);
    const before = all();
    for (let n = 1; n <= 20; n++) await round(n);
    expect(all()).toBe(before);
    expect(open(server)).toEqual(held);
  });

  test("a save that breaks gives its descriptors back too", async () => {
    const server = await faulty("eio-before-fsync");
    await save(server, report);
    expect(open(server)).toEqual(["", "/.operations", "/reports", "/sources"]);
  });
});

describe("what it writes", () => {
  test("neither a grant nor the secret is in the log, the journal or an answer, wherever a client puts one (documents-mute-1)", async () => {
    const server = await start();
    const id = newId();
    const token = await grant(report, id);
    const calls: [string, object][] = [
      ["save_report", { ...report, approval_token: `${token} ` }],
      ["save_report", { ...report, approval_token: token.split(".").join(" . ") }],
      ["save_report", { ...report, approval_token: [token] }],
      ["save_report", { ...report, approval_token: token, note: token }],
      ["save_report", { filename: token, content: token, approval_token: token }],
      ["save_report", { ...report, approval_token: token, [token]: 1 }],
      ["read_document", { filename: `${token}.md` }],
      ["search_documents", { query: token.slice(0, 80), approval_token: token }],
      ["get_operation", { operation_id: token }],
      ["save_report", { ...report, approval_token: token, operation_id: newId() }],
      ["save_report", { ...report, approval_token: token, operation_id: id }],
      ["save_report", { ...report, approval_token: token, operation_id: id }],
      ["get_operation", { operation_id: id }],
    ];
    const statuses = [];
    for (const [name, args] of calls) statuses.push((await ask(server, name, args)).status);
    expect(statuses).toEqual([...Array(10).fill("rejected"), "ok", "rejected", "ok"]);
    const _meta = { "toolgate/operationId": token };
    const unknown = await server.request("tools/call", { name: token, arguments: {}, _meta });
    expect(unknown.error.code).toBe(-32602);
    expect((await server.request("tools/list", { cursor: token })).error.code).toBe(-32602);
    await server.end();
    const journal = readFileSync(join(root(), ".operations", id), "utf8");
    const written = [JSON.stringify(log()), journal, ...server.lines, server.stderr()].join("\n");
    const [, claims, signature] = token.split(".") as [string, string, string];
    for (const secret of [SECRET, claims, signature]) expect(written).not.toContain(secret);
    expect(log("accepted").length).toBe(14);
  });

  test("arguments that are too long or too deep for a log are refused all the same", async () => {
    const server = await start();
    const told = await ask(server, "save_report", { ...report, approval_token: "t", content: "x".repeat(200_000) });
    expect(told.data).toEqual({ field: "content", rule: "must be a string of 1 to 8000 characters" });
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const params = `{"name":"search_documents","arguments":{"query":${deep}}}`;
    server.write(`{"jsonrpc":"2.0","id":77,"method":"tools/call","params":${params}}\n`);
    const { result } = await server.message(({ id }) => id === 77);
    expect(result.structuredContent.data).toEqual({ field: "query", rule: "must be a string of 1 to 80 characters" });
    expect(log("accepted").map(({ arguments: args }) => args)).toEqual(["(too long)", "(too deep)"]);
    expect(log("effect")).toEqual([]);
  });

  test("another scope and another name, where the env says so", async () => {
    const server = await start({ DOCUMENTS_SCOPE: "team", DOCUMENTS_NAME: "papers" });
    const told = async (claims: object) => {
      const approval_token = await grant(report, newId(), { claims: { ...claims } });
      return (await ask(server, "save_report", { ...report, approval_token })).status;
    };
    expect(await told({})).toBe("rejected");
    expect(await told({ aud: "papers" })).toBe("rejected");
    expect(await told({ scope: "team" })).toBe("rejected");
    expect(await told({ aud: "papers", scope: "team" })).toBe("ok");
  });
});
