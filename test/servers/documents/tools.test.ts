// The four tools in both protocol revisions, over real stdio.

import { mkdirSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { definitions } from "../../../servers/documents/contracts.js";
import { ask, grant, newId, PROTOCOLS, place, save, sha256 } from "./place.js";

const { root, client, start, source, reports, log } = place();

describe.each(PROTOCOLS)("over %s", (protocol) => {
  test("search, read, save and the read-back, with the words of each", async () => {
    source("a.md", "first line\nthe needle is here\n");
    source("b.md", "nothing\n");
    const documents = await client(protocol);
    expect(documents.getNegotiatedProtocolVersion()).toBe(protocol);
    expect((await documents.listTools()).tools.map(({ name, inputSchema }) => [name, inputSchema.required])).toEqual([
      ["search_documents", ["query"]],
      ["read_document", ["filename"]],
      ["save_report", ["filename", "content", "approval_token"]],
      ["get_operation", ["operation_id"]],
    ]);

    const found = await documents.callTool({ name: "search_documents", arguments: { query: "needle" } });
    expect([found.isError, found.content, found.structuredContent]).toEqual([
      undefined,
      [
        {
          type: "text",
          text: "1 hit in 2 documents\n\na.md, line 2:\nfirst line\nthe needle is here\n",
        },
      ],
      {
        status: "ok",
        message: "1 hit in 2 documents",
        data: {
          hits: [{ filename: "a.md", line: 2, excerpt: "first line\nthe needle is here\n" }],
          examined: 2,
          skipped: 0,
          truncated: false,
        },
      },
    ]);

    const document = await documents.callTool({ name: "read_document", arguments: { filename: "b.md" } });
    expect([document.isError, document.content, document.structuredContent]).toEqual([
      undefined,
      [{ type: "text", text: "nothing\n" }],
      {
        status: "ok",
        message: "`b.md`, 8 bytes",
        data: {
          filename: "b.md",
          bytes: 8,
          sha256: "72bc30bd85d75d05c5eeca0df5481028d4b05593848133a144b580af382e3a60",
        },
      },
    ]);

    const report = { filename: "report.md", content: "Grüße, 世界 👋\r\nno newline at the end" };
    const id = newId();
    const approval_token = await grant(report, id);
    const saved = await documents.callTool({
      name: "save_report",
      arguments: { ...report, approval_token, operation_id: id },
    });
    expect([saved.isError, saved.content, saved.structuredContent]).toEqual([
      undefined,
      [{ type: "text", text: "saved `report.md`, 43 bytes" }],
      {
        status: "ok",
        message: "saved `report.md`, 43 bytes",
        data: { filename: "report.md", bytes: 43, sha256: sha256(report.content), operation_id: id },
      },
    ]);
    expect(reports()).toEqual({ "report.md": "Grüße, 世界 👋\r\nno newline at the end" });
    expect(statSync(join(root(), "reports/report.md")).mode & 0o777).toBe(0o600);

    const told = await documents.callTool({ name: "get_operation", arguments: { operation_id: id } });
    expect([told.isError, told.structuredContent]).toEqual([
      undefined,
      {
        status: "ok",
        message: "carried out: `report.md` was saved",
        data: {
          operation_id: id,
          carried_out: true,
          final: true,
          filename: "report.md",
          bytes: 43,
          sha256: sha256(report.content),
          detail: "carried out: `report.md` was saved",
        },
      },
    ]);
    expect(log("effect").map(({ tool }) => tool)).toEqual(["save_report"]);
  });

  test("a refusal is a result with isError that names field and rule; an unknown tool is an error (documents-answer-1)", async () => {
    const documents = await client(protocol);
    const refused = await documents.callTool({
      name: "search_documents",
      arguments: { query: "x", max_results: true },
    });
    expect([refused.isError, refused.content, refused.structuredContent]).toEqual([
      true,
      [{ type: "text", text: "`max_results` must be a whole number from 1 to 3" }],
      {
        status: "rejected",
        message: "`max_results` must be a whole number from 1 to 3",
        data: { field: "max_results", rule: "must be a whole number from 1 to 3" },
      },
    ]);
    await expect(documents.callTool({ name: "delete_report", arguments: {} })).rejects.toMatchObject({ code: -32602 });
    expect(log("accepted", "refused").map(({ event, n }) => [event, n])).toEqual([
      ["accepted", 1],
      ["refused", 1],
      ["accepted", 2],
      ["refused", 2],
    ]);
  });
});

test("the list is plain and small enough for a host with the bounds of `toolgate.documents.json` (documents-contracts-2)", () => {
  const depth = (value: unknown): number =>
    typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depth)) : 0;
  for (const { inputSchema, outputSchema, ...rest } of Object.values(definitions)) {
    expect(JSON.stringify({ inputSchema, outputSchema, ...rest }).length).toBeLessThan(4_000);
    expect(JSON.stringify([inputSchema, outputSchema])).not.toMatch(/\$ref|anyOf|oneOf|allOf/);
    expect([depth(inputSchema), depth(outputSchema)].every((levels) => levels <= 8)).toBe(true);
  }
});

describe("search_documents", () => {
  test("is case-sensitive, literal and not recursive, and counts what it could not read", async () => {
    source("a.md", "A.B\n");
    source("b.md", "AxB a.b\n");
    source("notes.txt", "A.B\n");
    source("broken.md", Buffer.from([0x41, 0x2e, 0x42, 0xff]));
    source("long.md", `A.B${"x".repeat(24_000)}`);
    mkdirSync(join(root(), "sources/folder.md"));
    symlinkSync("a.md", join(root(), "sources/link.md"));
    const told = await ask(await start(), "search_documents", { query: "A.B" });
    expect(told.data).toEqual({
      hits: [{ filename: "a.md", line: 1, excerpt: "A.B\n" }],
      examined: 2,
      skipped: 5,
      truncated: false,
    });
  });

  test("an excerpt is 40 characters before the match and 160 from it, astral characters whole", async () => {
    source("a.md", `${"👋".repeat(50)}needle${"é".repeat(200)}`);
    const told = await ask(await start(), "search_documents", { query: "needle" });
    expect(told.data.hits[0].excerpt).toBe(`${"👋".repeat(40)}needle${"é".repeat(154)}`);
  });

  test("truncated says that a bound stopped it: the hits that were asked for, or the 64 entries", async () => {
    const server = await start();
    for (const name of ["a", "b", "c"]) source(`${name}.md`, "needle needle\n");
    const search = async (max_results: number) => {
      const { data } = await ask(server, "search_documents", { query: "needle", max_results });
      return [data.hits.map(({ filename }: { filename: string }) => filename), data.examined, data.truncated];
    };
    expect(await search(1)).toEqual([["a.md"], 1, true]);
    expect(await search(2)).toEqual([["a.md", "b.md"], 2, true]);
    expect(await search(3)).toEqual([["a.md", "b.md", "c.md"], 3, false]);
    for (let i = 0; i < 61; i++) source(`x${String(i).padStart(2, "0")}.md`, "other\n");
    const at64 = await ask(server, "search_documents", { query: "other", max_results: 3 });
    expect([at64.data.examined, at64.data.truncated]).toEqual([6, true]);
    const none = await ask(server, "search_documents", { query: "absent" });
    expect([none.data.examined, none.data.truncated]).toEqual([64, false]);
    source("z.md", "absent\n"); // the 65th by name
    const over = await ask(server, "search_documents", { query: "absent" });
    expect([over.data.hits, over.data.examined, over.data.truncated]).toEqual([[], 64, true]);
  });
});

describe("read_document", () => {
  test.each([
    ["exactly 24,000 bytes", Buffer.alloc(24_000, "x"), "ok"],
    ["24,001 bytes", Buffer.alloc(24_001, "x"), "rejected"],
    ["invalid UTF-8", Buffer.from([0x68, 0xc3]), "rejected"],
    ["an encoded surrogate", Buffer.from([0xed, 0xa0, 0x80]), "rejected"],
    ["nothing at all", Buffer.alloc(0), "ok"],
  ])("%s", async (_what, bytes, status) => {
    source("a.md", bytes);
    expect((await ask(await start(), "read_document", { filename: "a.md" })).status).toBe(status);
  });

  test("a byte order mark, NUL and CRLF are read as they are", async () => {
    source("a.md", "\ufeffa\u0000b\r\n");
    const server = await start();
    const answer = await server.request("tools/call", { name: "read_document", arguments: { filename: "a.md" } });
    expect(answer.result.content).toEqual([{ type: "text", text: "\ufeffa\u0000b\r\n" }]);
  });

  test("a document that is not there failed; a report cannot be read or found", async () => {
    const server = await start();
    expect((await save(server, { filename: "mine.md", content: "needle" })).status).toBe("ok");
    const told = await ask(server, "read_document", { filename: "mine.md" });
    expect(told).toEqual({ status: "failed", message: "there is no document `mine.md`", data: null });
    expect((await ask(server, "search_documents", { query: "needle" })).data.hits).toEqual([]);
  });
});

describe("save_report", () => {
  test("a name that is taken is refused, and what stands there stays", async () => {
    const server = await start();
    expect((await save(server, { filename: "a.md", content: "first" })).status).toBe("ok");
    expect(await save(server, { filename: "a.md", content: "second" })).toEqual({
      status: "rejected",
      message:
        "`filename` must name a report that does not exist yet; `a.md` is there, it was not changed, and the grant is used up",
      data: { field: "filename", rule: "must name a report that does not exist yet" },
    });
    expect(reports()).toEqual({ "a.md": "first" });
    expect(log("effect").length).toBe(1);
  });

  test("the most that is allowed, and one more: 8,000 characters, 24,000 bytes", async () => {
    const server = await start();
    const told = async (name: string, content: string) => {
      const { status, data } = await save(server, { filename: `${name}.md`, content });
      return [status, data.bytes ?? data.rule];
    };
    expect(await told("a", "世".repeat(8_000))).toEqual(["ok", 24_000]);
    expect(await told("b", "x".repeat(8_001))).toEqual(["rejected", "must be a string of 1 to 8000 characters"]);
    expect(await told("c", "👋".repeat(6_001))).toEqual(["rejected", "must be at most 24000 bytes in UTF-8"]);
    expect(await told("d", "")).toEqual(["rejected", "must be a string of 1 to 8000 characters"]);
    expect(await told("e", "half \ud83d")).toEqual(["rejected", "must be well-formed Unicode"]);
    expect(Object.keys(reports())).toEqual(["a.md"]);
  });

  test("a page that nobody was told of is an error", async () => {
    const server = await start();
    expect((await server.request("tools/list", { cursor: "" })).error.code).toBe(-32602);
  });
});
