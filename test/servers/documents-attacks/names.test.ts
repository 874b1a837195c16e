// File names that try to get out, or to look like another. Each is tried for a read, and for a save under an honest grant
// for exactly that name: nothing but the name is wrong.

import { describe, expect, test } from "vitest";
import { approved, grant, newId } from "./grants.js";
import { attacked, SAMPLED } from "./target.js";

const RULE =
  "must be a file name of 1 to 64 letters, digits, `-` or `_`, the first a letter or digit, with `.md` at its end";

const paths: readonly [string, string][] = [
  ["an absolute path", "/etc/passwd"],
  ["an absolute path that ends like a report", "/tmp/attack.md"],
  ["two slashes before it", "//canary.md"],
  ["a relative path", "outside/canary.md"],
  ["`..`", ".."],
  ["`.`", "."],
  ["the parent's file", "../canary.md"],
  ["the parent of the parent", "../../canary.md"],
  ["the parent, after a name that is right", "good.md/../../canary.md"],
  ["the folder itself before it", "./a.md"],
  ["the other folder", "../reports/a.md"],
  ["the journal", "../.operations/a.md"],
  ["a slash behind it", "good.md/"],
  ["a slash and a dot behind it", "good.md/."],
  ["a backslash", "..\\canary.md"],
  ["a drive", "C:canary.md"],
  ["a share", "\\\\host\\canary.md"],
  ["a stream of a file", "good.md:a.md"],
  ["a home", "~/canary.md"],
  ["another home", "~root.md"],
  ["a URL", "file:///etc/passwd.md"],
  ["an encoded `..`", "%2e%2e%2fcanary.md"],
  ["an encoded slash", "..%2fcanary.md"],
  ["an overlong encoded slash", "..%c0%afcanary.md"],
  ["this process's environment", "/proc/self/environ"],
  ["a descriptor", "/proc/self/fd/3/good.md"],
];

const characters: readonly [string, string][] = [
  ["nothing", ""],
  ["only the ending", ".md"],
  ["a hidden file", ".good.md"],
  ["a dash first", "-a.md"],
  ["an underscore first", "_a.md"],
  ["two endings", "a.md.md"],
  ["another ending", "good.txt"],
  ["no ending", "good"],
  ["65 characters", `${"a".repeat(65)}.md`],
  ["very many characters", `${"a".repeat(4_000)}.md`],
  ["NUL inside", "a\u0000b.md"],
  ["NUL behind", "a.md\u0000"],
  ["NUL and another ending", "good.md\u0000.md"],
  ["NUL and a path", "../canary.md\u0000good.md"],
  ["a newline behind", "good.md\n"],
  ["a carriage return behind", "good.md\r\n"],
  ["a newline before", "\ngood.md"],
  ["two lines, the last right", "../canary.md\ngood.md"],
  ["two lines, the first right", "good.md\n../canary.md"],
  ["a line separator behind", "good.md\u2028"],
  ["a next-line behind", "good.md\u0085"],
  ["a space behind", "good.md "],
  ["a space before", " good.md"],
  ["a tab inside", "a\tb.md"],
  ["a backspace", "x\u0008good.md"],
  ["an escape sequence", "\u001b[2Jgood.md"],
  ["DEL", "good\u007f.md"],
  ["the ending in capitals", "good.MD"],
  ["the ending half in capitals", "good.Md"],
  ["a glob", "*.md"],
  ["a shell's word", "$(id).md"],
  ["a quote", "a'b.md"],
];

const lookAlikes: readonly [string, string][] = [
  ["a full-width dot", "good\uff0emd"],
  ["a one-dot leader", "good\u2024md"],
  ["an ideographic full stop", "good\u3002md"],
  ["a full-width letter", "\uff47ood.md"],
  ["a full-width solidus", "..\uff0fcanary.md"],
  ["a division slash", "..\u2215canary.md"],
  ["a two-dot leader", "\u2025/canary.md"],
  ["a Cyrillic letter", "g\u043eod.md"],
  ["a Greek letter", "g\u03bfod.md"],
  ["a roman numeral in the ending", "good.\u217fd"],
  ["a combining accent", "go\u0301od.md"],
  ["a composed accent", "g\u00f3od.md"],
  ["the Kelvin sign", "\u212a.md"],
  ["the long s", "\u017f.md"],
  ["a dotless i", "\u0131.md"],
  ["Arabic digits", "\u0661.md"],
  ["an override from right to left", "\u202edm.doog"],
  ["an isolate", "\u2066good\u2069.md"],
  ["a zero-width space", "good\u200b.md"],
  ["a zero-width joiner", "go\u200dod.md"],
  ["a soft hyphen", "go\u00adod.md"],
  ["a byte order mark", "\ufeffgood.md"],
  ["a tag character", "good\u{e0061}.md"],
  ["a variation selector", "good\ufe0f.md"],
  ["a mathematical letter", "\u{1d420}ood.md"],
  ["an emoji", "\u{1f44b}.md"],
  ["a lone high surrogate", "good\ud83d.md"],
  ["a lone low surrogate", "\udc4bgood.md"],
];

const values: readonly [string, unknown][] = [
  ["null", null],
  ["true", true],
  ["a number", 7],
  ["a list", []],
  ["a list with a right name", ["good.md"]],
  ["an object", {}],
  ["an object like a text", { length: 7, 0: "g", toString: "good.md" }],
];

const operationIds: readonly [string, unknown][] = [
  ["a path", `../${"a".repeat(61)}`],
  ["a path of a report", "../reports/a.md"],
  ["capitals", "A".repeat(64)],
  ["63 digits", "a".repeat(63)],
  ["65 digits", "a".repeat(65)],
  ["another letter", `${"a".repeat(63)}g`],
  ["a newline behind", `${"a".repeat(64)}\n`],
  ["NUL behind", `${"a".repeat(64)}\u0000`],
  ["full-width digits", "\uff11".repeat(64)],
  ["a number", 1],
  ["a list", ["a".repeat(64)]],
  ["null", null],
];

describe.each(SAMPLED)("%s", (era) => {
  const target = attacked(era);

  describe.each([
    ["paths", paths],
    ["characters", characters],
    ["look-alikes", lookAlikes],
    ["values", values],
  ])("%s", (_kind, names) => {
    test.each<[string, unknown]>(names as [string, unknown][])("%s", async (_what, filename) => {
      const broken = { field: "filename", rule: RULE };
      expect((await target().refused("read_document", { filename })).data).toEqual(broken);
      const save = await target().refused("save_report", approved({ filename, content: "text\n" }));
      expect(save.data).toEqual(broken);
      expect(save.message).toBe(`\`filename\` ${RULE}`);
    });
  });

  test("an absolute path to a document that may be read, and one to where reports are", async () => {
    for (const filename of [`${target().field.root}/sources/good.md`, `${target().field.root}/reports/a.md`]) {
      expect((await target().refused("read_document", { filename })).data.rule).toBe(RULE);
      const args = approved({ filename, content: "text\n" });
      expect((await target().refused("save_report", args)).data.rule).toBe(RULE);
    }
  });

  test("names at the rule's edge are right: 64 characters, one character, capitals; case tells names apart", async () => {
    for (const filename of [`${"a".repeat(64)}.md`, "0.md", "NEW.md", "new.md", "z_-.md"]) {
      const [report, id] = [{ filename, content: "text\n" }, newId()];
      await target().saved(report, id, grant(report, id));
    }
  });

  describe("operation ids", () => {
    test.each(operationIds)("%s", async (_what, operation_id) => {
      const rule = "must be 64 lower-case hexadecimal digits";
      const asked = await target().refused("get_operation", { operation_id });
      expect(asked.data).toEqual({ field: "operation_id", rule });
      const args = { ...approved({ filename: "id.md", content: "text\n" }), operation_id };
      expect((await target().refused("save_report", args)).data).toEqual({ field: "operation_id", rule });
    });
  });
});
