// What is written down and said about a call, wherever a grant stands in it, and what a call may cost the server.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { approved, grant, newId } from "./grants.js";
import { attacked, SAMPLED, type Target } from "./target.js";

/** Sends a grant that could still be used, in a place where it does not belong. */
type Misplaced = (target: Target, token: string) => Promise<unknown>;

const places: readonly [string, Misplaced][] = [
  ["as content", (target, token) => target.call("save_report", { filename: "a.md", content: token })],
  ["inside content", (target, content) => target.call("save_report", { filename: "a.md", content: `x ${content} x` })],
  ["on a line of its own", (target, token) => target.call("save_report", { content: `x\n${token}\n` })],
  ["behind NUL", (target, token) => target.call("save_report", { content: `\u0000${token}` })],
  ["glued to a word", (target, token) => target.call("save_report", { content: `token_${token}_x` })],
  ["as a file name", (target, filename) => target.call("read_document", { filename })],
  ["as a query", (target, token) => target.call("search_documents", { query: token })],
  ["as an operation id", (target, operation_id) => target.call("get_operation", { operation_id })],
  ["as a field's name", (target, token) => target.call("read_document", { [token]: "good.md" })],
  ["deep in a value", (target, token) => target.call("read_document", { filename: [{ a: [token] }] })],
  ["in pieces, as the token", (target, token) => target.call("save_report", { approval_token: token.split(".") })],
  ["as a tool's name", (target, token) => target.call(token, {})],
  ["as a method", (target, token) => target.request(token)],
  [
    "as the host's operation id",
    (target, token) => {
      const { _meta } = target.params({}) as { _meta?: object };
      const params = { name: "read_document", arguments: { filename: "good.md" } };
      const more = { _meta: { ..._meta, "toolgate/operationId": token } };
      return target.process.request("tools/call", { ...params, ...more });
    },
  ],
  ["as a cursor", (target, cursor) => target.request("tools/list", { cursor })],
  [
    "beside the arguments",
    (target, token) => target.request("tools/call", { name: "read_document", arguments: {}, token }),
  ],
];

/** Seconds of a processor that a process has used. */
function used(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

describe.each(SAMPLED)("%s", (era) => {
  describe("a grant that stands", () => {
    const target = attacked(era);

    test.each(places)("%s: not said again and not logged", async (_where, send) => {
      const token = grant({ filename: "a.md", content: "text\n" }, newId());
      target().field.remember(token);
      const before = target().field.log().length;
      await send(target(), token);
      await target().serves();
      expect(target().field.log().length).toBeGreaterThan(before);
      target().field.muteSoFar(); // attacks-3
    });
  });

  describe("what is no grant", () => {
    const target = attacked(era);

    test("a word with two points at the beginning of a line: the other arguments are logged all the same", async () => {
      const args = { filename: "a.md", content: "see\ncomponents.documents.title\n" };
      await target().call("save_report", args);
      expect(target().field.log("accepted").at(-1)?.arguments).toMatchObject({ filename: "a.md" });
    });
  });

  describe("a refused call", () => {
    const target = attacked(era);

    async function cost(args: object): Promise<number> {
      const before = used(target().process.pid);
      await target().refused("save_report", args);
      return used(target().process.pid) - before;
    }

    test("of ten thousand words takes under a second of work", async () => {
      const args = approved({ filename: "a.md", content: "words and ".repeat(9_000) });
      expect(await cost(args)).toBeLessThan(1);
    });

    test("of one word of thirty thousand letters takes under half a second of work", async () => {
      const args = approved({ filename: "a.md", content: "x".repeat(30_000) });
      expect(await cost(args)).toBeLessThan(0.5);
    });

    test("of arguments two hundred thousand levels deep is refused like others", async () => {
      const before = target().field.log("refused").length;
      const deep = "[".repeat(200_000) + "]".repeat(200_000);
      const told = await target().refusedText("read_document", `{"filename":${deep}}`);
      expect(told.data.field).toBe("filename");
      expect(target().field.log("refused").length).toBe(before + 1);
    });
  });
});
