// Values and fields that are not what a tool takes. Where a save is tried, its grant is honest: only the value is wrong.

import { describe, expect, test } from "vitest";
import { approved, grant, newId } from "./grants.js";
import { attacked, SAMPLED } from "./target.js";
import { NOTHING } from "./tree.js";

const CONTENT = "must be a string of 1 to 8000 characters";
const GRANT = "must be a string of 1 to 2048 characters";
const LIMIT = "must be a whole number from 1 to 3";
const QUERY = "must be a string of 1 to 80 characters";
const UNICODE = "must be well-formed Unicode";

const contents: readonly [string, unknown, string][] = [
  ["nothing", "", CONTENT],
  ["a number", 5, CONTENT],
  ["null", null, CONTENT],
  ["true", true, CONTENT],
  ["a list", ["text"], CONTENT],
  ["an object", { toString: "text" }, CONTENT],
  ["8,001 characters", "x".repeat(8_001), CONTENT],
  ["24,001 bytes", `${"\u{1f44b}".repeat(6_000)}x`, "must be at most 24000 bytes in UTF-8"],
  ["a lone high surrogate", "half \ud83d", UNICODE],
  ["a lone low surrogate", "\udc4b half", UNICODE],
  ["surrogates the wrong way round", "\udc4b\ud83d", UNICODE],
];

const queries: readonly [string, object, string, string][] = [
  ["no query", {}, "query", "is missing"],
  ["an empty query", { query: "" }, "query", QUERY],
  ["81 characters", { query: "x".repeat(81) }, "query", QUERY],
  ["a query that is a number", { query: 1 }, "query", QUERY],
  ["half a character", { query: "\ud83d" }, "query", UNICODE],
  ["`true` for one", { query: "x", max_results: true }, "max_results", LIMIT],
  ["a number as text", { query: "x", max_results: "1" }, "max_results", LIMIT],
  ["no results", { query: "x", max_results: 0 }, "max_results", LIMIT],
  ["four results", { query: "x", max_results: 4 }, "max_results", LIMIT],
  ["a fraction", { query: "x", max_results: 1.5 }, "max_results", LIMIT],
  ["very many", { query: "x", max_results: 1e300 }, "max_results", LIMIT],
  ["null", { query: "x", max_results: null }, "max_results", LIMIT],
  ["another folder", { query: "x", folder: "../reports" }, "folder", "is not a field of this tool"],
];

const fields = ["mode", "path", "overwrite", "Filename", "filename ", "constructor", "toString", "hasOwnProperty", ""];

const grants: readonly [string, unknown][] = [
  ["null", null],
  ["a number", 1],
  ["true", true],
  ["a list", ["a"]],
  ["an object", { payload: "e30" }],
  ["nothing", ""],
];

let right = 0;

describe.each(SAMPLED)("%s", (era) => {
  const target = attacked(era);

  describe("contents", () => {
    test.each(contents)("%s", async (_what, content, rule) => {
      const args = approved({ filename: "value.md", content });
      expect((await target().refused("save_report", args)).data).toEqual({ field: "content", rule });
    });

    test.each([
      ["24,000 bytes", "\u4e16".repeat(8_000)],
      ["NUL, a newline of each kind and a byte order mark", "\ufeffa\u0000b\r\n\u2028c\r"],
      ["a composed letter and its parts", "\u00e9 e\u0301"],
    ])("%s is right, and saved byte for byte", async (_what, content) => {
      const [id, filename] = [newId(), `right-${++right}.md`];
      await target().saved({ filename, content }, id, grant({ filename, content }, id));
    });
  });

  describe("queries", () => {
    test.each(queries)("%s", async (_what, args, name, rule) => {
      expect((await target().refused("search_documents", args)).data).toEqual({ field: name, rule });
    });
  });

  describe("fields that a tool does not have", () => {
    test.each(fields)("`%s`", async (name) => {
      const broken = { field: name, rule: "is not a field of this tool" };
      const args = approved({ filename: "value.md", content: "text\n" });
      const more = { [name]: "../outside" };
      expect((await target().refused("save_report", { ...args, ...more })).data).toEqual(broken);
      const read = { filename: "good.md", ...more };
      expect((await target().refused("read_document", read)).data).toEqual(broken);
      const asked = { operation_id: newId(), ...more };
      expect((await target().refused("get_operation", asked)).data).toEqual(broken);
    });

    test("a name that holds what it should not is not said again as it is", async () => {
      const name = `\u001b[31m\`a\nb\u202e${"x".repeat(500)}`;
      const told = await target().refused("read_document", { filename: "good.md", [name]: 1 });
      expect(told.message).toBe(`\`?[31m?a?b?${"x".repeat(30)}\` is not a field of this tool`);
    });
  });

  describe("`__proto__`", () => {
    test("as the holder of what is missing: nothing is taken from it", async () => {
      const name = '{"__proto__":{"filename":"good.md"}}';
      expect((await target().refusedText("read_document", name)).data).toEqual({
        field: "filename",
        rule: "is missing",
      });
      const args = approved({ filename: "proto.md", content: "text\n" });
      const save = `{"__proto__":${JSON.stringify(args)}}`;
      expect((await target().refusedText("save_report", save)).data).toEqual({ field: "filename", rule: "is missing" });
    });

    test("beside what is right: nothing is taken from it either", async () => {
      const args = '{"__proto__":{"filename":"../canary.md","content":"x"},"filename":"good.md"}';
      const { value, changes } = await target().field.during(() => target().askText("read_document", args));
      expect([value.data.filename, changes]).toEqual(["good.md", NOTHING]);
    });

    test("as another grant, or another file name: the ones beside it count", async () => {
      const { approval_token, ...rest } = approved({ filename: "proto.md", content: "text\n" });
      const hidden = `"__proto__":${JSON.stringify({ approval_token })}`;
      const open = JSON.stringify(rest).slice(1, -1);
      expect((await target().refusedText("save_report", `{${hidden},${open}}`)).data).toEqual({
        field: "approval_token",
        rule: "is missing",
      });
      const bad = `{"__proto__":{"filename":"good.md"},"filename":"../canary.md"}`;
      expect((await target().refusedText("read_document", bad)).data.field).toBe("filename");
    });
  });

  describe("grants that are no text", () => {
    test.each(grants)("%s", async (_what, approval_token) => {
      const args = { filename: "value.md", content: "text\n", approval_token };
      const broken = { field: "approval_token", rule: GRANT };
      expect((await target().refused("save_report", args)).data).toEqual(broken);
    });
  });

  test.each(["filename", "content", "approval_token"])("`%s` that is missing", async (name) => {
    const { [name]: _left, ...args } = approved({ filename: "value.md", content: "text\n" });
    expect((await target().refused("save_report", args)).data).toEqual({ field: name, rule: "is missing" });
  });

  test("a grant beside the arguments, not in them", async () => {
    const { approval_token, ...rest } = approved({ filename: "beside.md", content: "text\n" });
    const params = { name: "save_report", arguments: rest, approval_token };
    target().field.remember(approval_token);
    const { value, changes } = await target().field.during(() => target().request("tools/call", params));
    expect(value.result.structuredContent.data).toEqual({ field: "approval_token", rule: "is missing" });
    expect(changes).toEqual(NOTHING);
  });

  test("a value given twice: the last one counts for the check and for the save alike", async () => {
    const [id, first, last] = [newId(), "first\n", "last\n"];
    const token = grant({ filename: "twice.md", content: first }, id);
    const text = (contents: readonly string[]): string => {
      const given = contents.map((content) => `"content":${JSON.stringify(content)}`).join();
      return `{"filename":"twice.md",${given},"approval_token":"${token}"}`;
    };
    expect((await target().refusedText("save_report", text([first, last]))).data).toEqual({
      field: "approval_token",
      rule: "must be for this file name and this content",
    });
    expect((await target().askText("save_report", text([last, first]))).status).toBe("ok");
    expect(target().field.report("twice.md").toString()).toBe(first);
  });
});
