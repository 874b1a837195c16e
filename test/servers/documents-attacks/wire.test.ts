// The protocol itself as the attack: lines that are no messages, messages that are no requests, requests out of order,
// lines without end. Wherever one holds a save, its grant is honest: it must not be carried out in that form.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Message } from "../../support/rpc.js";
import { onField } from "./field.js";
import { approved, grant, newId } from "./grants.js";
import { attacked, ENVELOPE, ERAS, type Era, SAMPLED, Target, targetOn } from "./target.js";
import { NOTHING } from "./tree.js";

const CLOSED = { field: "approval_token", rule: "is for an operation that was closed" };
const USED = { field: "approval_token", rule: "was already used" };
let saves = 0;

/** A request that would be carried out, as its parts. */
function saving(target: Target) {
  const args = approved({ filename: `wire-${++saves}.md`, content: "text\n" });
  target.field.remember(args.approval_token);
  return { method: "tools/call", params: target.params({ name: "save_report", arguments: args }) };
}
const text = (message: object): string => JSON.stringify(message);

type Line = (parts: ReturnType<typeof saving>) => string;
const lines: readonly [string, Line][] = [
  ["nothing", () => ""],
  ["text", () => "save the report"],
  ["a number", () => "7"],
  ["null", () => "null"],
  ["an empty object", () => "{}"],
  ["an empty list", () => "[]"],
  ["a header of another protocol", () => "POST /mcp HTTP/1.1"],
  ["half a message", (parts) => text({ jsonrpc: "2.0", id: "x", ...parts }).slice(0, -1)],
  ["a message with more behind it", (parts) => `${text({ jsonrpc: "2.0", id: "x", ...parts })} x`],
  ["two messages on a line", (parts) => text({ jsonrpc: "2.0", id: "x", ...parts }).repeat(2)],
  ["a batch", (parts) => text([{ jsonrpc: "2.0", id: "x", ...parts }])],
  ["a byte order mark before it", (parts) => `\ufeff${text({ jsonrpc: "2.0", id: "x", ...parts })}`],
  ["NUL before it", (parts) => `\u0000${text({ jsonrpc: "2.0", id: "x", ...parts })}`],
  ["no version", (parts) => text({ id: "x", ...parts })],
  ["version 1.0", (parts) => text({ jsonrpc: "1.0", id: "x", ...parts })],
  ["version 2 as a number", (parts) => text({ jsonrpc: 2, id: "x", ...parts })],
  ["no id: a notification", (parts) => text({ jsonrpc: "2.0", ...parts })],
  ["the id null", (parts) => text({ jsonrpc: "2.0", id: null, ...parts })],
  ["the id an object", (parts) => text({ jsonrpc: "2.0", id: {}, ...parts })],
  ["no method", ({ params }) => text({ jsonrpc: "2.0", id: "x", params })],
  ["a method that is no text", ({ params }) => text({ jsonrpc: "2.0", id: "x", method: ["tools/call"], params })],
  ["another method", ({ params }) => text({ jsonrpc: "2.0", id: "x", method: "tools/Call", params })],
  ["params as a list", ({ method, params }) => text({ jsonrpc: "2.0", id: "x", method, params: [params] })],
  ["params as text", ({ method, params }) => text({ jsonrpc: "2.0", id: "x", method, params: text(params) })],
  [
    "params below `__proto__`",
    ({ params }) => `{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"__proto__":${text(params)}}}`,
  ],
  ["an answer that nobody waits for", ({ params }) => text({ jsonrpc: "2.0", id: "x", result: params })],
  ["an error that nobody waits for", () => text({ jsonrpc: "2.0", id: "x", error: { code: 1, message: "x" } })],
];

const strangers: readonly [string, string, number][] = [
  ["a method that is not there", "tools/delete", -32601],
  ["files over the protocol", "resources/read", -32601],
  ["prompts", "prompts/get", -32601],
  ["`__proto__`", "__proto__", -32601],
  ["`constructor`", "constructor", -32601],
  ["a path", "../../outside", -32601],
];

describe.each(SAMPLED)("%s", (era) => {
  describe("a line that is", () => {
    const target = attacked(era);
    test.each(lines)("%s: nothing is carried out, and the next request is served", async (_what, line) => {
      const { changes } = await target().field.during(async () => {
        target().process.write(`${line(saving(target()))}\n`);
        await target().serves();
      });
      expect(changes).toEqual(NOTHING);
    });

    test("any of these: when the server has ended, after all that it began, none was a call", async () => {
      expect(await target().process.end()).toEqual({ code: 0, signal: null });
      const calls = target().field.log("accepted", "effect");
      expect(calls.filter(({ event, tool }) => event === "effect" || tool !== "read_document")).toEqual([]);
      expect(calls.length).toBeGreaterThanOrEqual(lines.length); // the requests between them
    });
  });

  describe("requests", () => {
    const target = attacked(era);

    test.each(strangers)("%s: an error that says nothing again", async (_what, method, code) => {
      const { value, changes } = await target().field.during(() =>
        target().request(method, { uri: "file:///etc/passwd", name: "canary.md" }),
      );
      expect([value.error.code, changes]).toEqual([code, NOTHING]);
      target().field.mute(JSON.stringify(value.error));
      await target().serves();
    });

    test.each([
      "delete_report",
      "SAVE_REPORT",
      "save_report\n",
      "mcp__documents__save_report",
      "__proto__",
      "constructor",
      "",
    ])("the tool `%s`, which is not there", async (name) => {
      const args = approved({ filename: "tool.md", content: "text\n" });
      const { value, changes } = await target().field.during(() => target().call(name, args));
      expect([value.error.code, changes]).toEqual([-32602, NOTHING]);
      target().field.mute(JSON.stringify(value.error));
      await target().serves();
    });

    test.each<[string, unknown]>([
      ["a list", [approved({ filename: "args.md", content: "text\n" })]],
      ["text", JSON.stringify(approved({ filename: "args.md", content: "text\n" }))],
      ["null", null],
      ["a number", 1],
    ])("arguments as %s: an error of the protocol", async (_what, args) => {
      const { value, changes } = await target().field.during(() => target().call("save_report", args));
      expect([value.error.code, changes]).toEqual([-32602, NOTHING]);
      target().field.mute(JSON.stringify(value.error));
      await target().serves();
    });

    test("no arguments at all: refused like empty ones", async () => {
      const { result } = await target().request("tools/call", { name: "save_report" });
      expect(result.structuredContent.data).toEqual({ field: "filename", rule: "is missing" });
    });

    test("one id for two requests: both are carried out by their own grants, and both are answered", async () => {
      const answers = new Set<Message>();
      for (const id of ["one", "one"]) target().process.send({ id, ...saving(target()) });
      await target().process.message((message) => message.id === "one" && answers.add(message).size === 2);
      const told = [...answers].map(({ result }) => result.structuredContent);
      expect(told.map(({ status }) => status)).toEqual(["ok", "ok"]);
      expect(new Set(told.map(({ data }) => data.filename)).size).toBe(2);
    });

    test("a cancel that follows its save at once: nobody is told, but what the read-back says is true and stays", async () => {
      const [report, id] = [{ filename: "cancelled.md", content: "text\n" }, newId()];
      const approval_token = grant(report, id);
      target().field.remember(approval_token);
      const params = target().params({ name: "save_report", arguments: { ...report, approval_token } });
      target().process.send({ id: "gone", method: "tools/call", params });
      const cancel = target().params({ requestId: "gone", reason: "changed my mind" });
      target().process.send({ method: "notifications/cancelled", params: cancel });
      // The question may come before the save has looked at its grant; then it closes the id.
      const { data } = await target().ask("get_operation", { operation_id: id });
      expect(data.final).toBe(true);
      const told = await target().refused("save_report", { ...report, approval_token });
      expect(told.data).toEqual(data.carried_out ? USED : CLOSED);
      const reports = readdirSync(join(target().field.root, "reports"));
      expect(reports.includes("cancelled.md")).toBe(data.carried_out);
    });

    test("the opening once more: the server goes on, and knows what was used", async () => {
      const [report, id] = [{ filename: "opened.md", content: "text\n" }, newId()];
      const approval_token = grant(report, id);
      await target().saved(report, id, approval_token);
      await target().open();
      expect((await target().refused("save_report", { ...report, approval_token })).data).toEqual(USED);
    });

    test("a line of five million characters: refused, and the next request is served", async () => {
      const content = "x ".repeat(2_500_000);
      const args = { filename: "long.md", content, approval_token: "x" };
      const told = await target().refused("save_report", args);
      expect(told.data).toEqual({ field: "content", rule: "must be a string of 1 to 8000 characters" });
    });

    test("a hundred thousand fields: refused at the first", async () => {
      const fields = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`f${i}`, 1]));
      const told = await target().refused("read_document", fields);
      expect(told.data).toEqual({ field: "f0", rule: "is not a field of this tool" });
    });
  });

  test("before the opening: what is bad is refused, what a grant stands for is saved, and the opening still works", async () => {
    await onField(async (field) => {
      field.prepare();
      const target = new Target(field, era, field.launch());
      const bad = { filename: "../canary.md", content: "text\n" };
      expect((await target.refused("save_report", approved(bad))).data.field).toBe("filename");
      const [report, id] = [{ filename: "a.md", content: "text\n" }, newId()];
      const none = { ...report, approval_token: "yes" };
      expect((await target.refused("save_report", none)).data.field).toBe("approval_token");
      await target.saved(report, id, grant(report, id));
      await target.open();
      await target.serves();
    });
  });

  test("a line of twenty million characters: the server ends by itself, and what came before it is saved and known", async () => {
    await onField(async (field) => {
      const target = await targetOn(field, era);
      const [report, id] = [{ filename: "a.md", content: "text\n" }, newId()];
      const approval_token = grant(report, id);
      const { value, changes } = await field.during(async () => {
        const answer = target.ask("save_report", { ...report, approval_token });
        const unread = "x".repeat(20_000_000);
        target.process.write(`{"jsonrpc":"2.0","id":"long","method":"tools/call","params":{"x":"${unread}"}}\n`);
        expect((await answer).status).toBe("ok");
        return target.process.ended;
      });
      expect(value).toEqual({ code: 0, signal: null });
      expect(changes).toEqual({ ...NOTHING, added: [`root/.operations/${id}`, "root/reports/a.md"] });
      const next = await targetOn(field, era);
      expect((await next.refused("save_report", { ...report, approval_token })).data).toEqual(USED);
    });
  }, 90_000);

  test("a save and the end of the input in one breath: it is carried out, and answered", async () => {
    await onField(async (field) => {
      const target = await targetOn(field, era);
      const [report, id] = [{ filename: "a.md", content: "text\n" }, newId()];
      const { value, changes } = await field.during(() => {
        const answer = target.ask("save_report", approved(report, id));
        return Promise.all([answer, target.process.end()]);
      });
      expect([value[0].status, value[1]]).toEqual(["ok", { code: 0, signal: null }]);
      expect(changes).toEqual({ ...NOTHING, added: [`root/.operations/${id}`, "root/reports/a.md"] });
    });
  });

  test("a save without its newline, and then the end: it has not arrived, and its grant can still be used", async () => {
    await onField(async (field) => {
      const target = await targetOn(field, era);
      const [report, id] = [{ filename: "a.md", content: "text\n" }, newId()];
      const approval_token = grant(report, id);
      const params = target.params({ name: "save_report", arguments: { ...report, approval_token } });
      const { value, changes } = await field.during(() => {
        target.process.write(text({ jsonrpc: "2.0", id: "half", method: "tools/call", params }));
        return target.process.end();
      });
      expect([value, changes]).toEqual([{ code: 0, signal: null }, NOTHING]);
      await (await targetOn(field, era)).saved(report, id, approval_token);
    });
  });
});

describe("one era inside the other", () => {
  const other: Record<Era, Era> = { "2025-11-25": "2026-07-28", "2026-07-28": "2025-11-25" };

  test.each(ERAS)("%s, spoken to as the other: a bad save is no better, and nothing is written", async (era) => {
    await onField(async (field) => {
      const target = await targetOn(field, era);
      await target.serves();
      const stranger = new Target(field, other[era], target.process);
      const bad = approved({ filename: "../canary.md", content: "text\n" });
      const { value, changes } = await field.during(() => stranger.call("save_report", bad));
      expect(value.result?.structuredContent.status ?? value.error.code).toBe(
        era === "2025-11-25" ? "rejected" : -32602, // what has no envelope is no request of 2026-07-28
      );
      expect(changes).toEqual(NOTHING);
      await target.serves();
    });
  });

  test("an envelope that is wrong opens nothing, and a right one after it does", async () => {
    await onField(async (field) => {
      field.prepare();
      const process = field.launch();
      const version = "io.modelcontextprotocol/protocolVersion";
      const args = approved({ filename: "a.md", content: "text\n" });
      field.remember(args.approval_token);
      for (const [wrong, code] of [
        [{ ...ENVELOPE, [version]: "2099-01-01" }, -32022],
        [{ ...ENVELOPE, [version]: "../canary.md" }, -32022],
        [{ ...ENVELOPE, [version]: {} }, -32602],
        [{ [version]: "2026-07-28" }, -32602],
      ] as const) {
        const params = { name: "save_report", arguments: args, _meta: wrong };
        const { value, changes } = await field.during(() => process.request("tools/call", params));
        expect([value.error.code, changes]).toEqual([code, NOTHING]);
      }
      expect(field.log("accepted")).toHaveLength(0);
      await (await new Target(field, "2026-07-28", process).open()).serves();
    });
  });
});
