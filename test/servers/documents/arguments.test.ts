// What the tools take, and the field and rule of what they do not.

import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  operationArguments,
  readArguments,
  saveArguments,
  searchArguments,
} from "../../../servers/documents/arguments.js";
import { definitions } from "../../../servers/documents/contracts.js";

const name =
  "must be a file name of 1 to 64 letters, digits, `-` or `_`, the first a letter or digit, with `.md` at its end";

describe("names", () => {
  test.each([["a.md"], ["A-b_9.md"], [`${"x".repeat(64)}.md`]])("%j is one", (filename) => {
    expect(readArguments({ filename })).toEqual({ ok: true, value: { filename } });
  });

  test.each([
    ["../a.md"],
    ["/etc/a.md"],
    ["sub/a.md"],
    ["./a.md"],
    ["a.md/"],
    ["..md"],
    [".a.md"],
    ["-a.md"],
    ["_a.md"],
    [".md"],
    [""],
    ["a"],
    ["a.MD"],
    ["a.md\n"],
    ["\na.md"],
    ["a.md\u0000"],
    ["a\u0000.md"],
    ["a.md "],
    [" a.md"],
    ["a b.md"],
    ["a.b.md"],
    [`${"x".repeat(65)}.md`],
    ["а.md"], // Cyrillic a
    ["ａ.md"], // full-width a
    ["é.md"],
    ["a\u202e.md"],
    ["a．md"],
    ["~a.md"],
    ["a\\b.md"],
    ["C:a.md"],
    ["%61.md"],
    [7],
    [null],
    [["a.md"]],
    [{ toString: "a.md" }],
  ])("%j is none", (filename) => {
    expect(readArguments({ filename })).toEqual({ ok: false, refusal: { field: "filename", rule: name } });
  });
});

describe("bounds", () => {
  const whole = "must be a whole number from 1 to 3";
  const query = "must be a string of 1 to 80 characters";
  test.each([
    [{ query: "x" }, { query: "x", max_results: 3 }],
    [{ query: "👋".repeat(80) }, { query: "👋".repeat(80), max_results: 3 }],
    [
      { query: "x", max_results: 1 },
      { query: "x", max_results: 1 },
    ],
    [{ query: " " }, { query: " ", max_results: 3 }],
  ])("search takes %j", (given, value) => {
    expect(searchArguments(given)).toEqual({ ok: true, value });
  });

  test.each([
    [{}, "query", "is missing"],
    [{ query: "" }, "query", query],
    [{ query: "x".repeat(81) }, "query", query],
    [{ query: 1 }, "query", query],
    [{ query: "\udc00" }, "query", "must be well-formed Unicode"],
    [{ query: "x", max_results: 0 }, "max_results", whole],
    [{ query: "x", max_results: 4 }, "max_results", whole],
    [{ query: "x", max_results: 1.5 }, "max_results", whole],
    [{ query: "x", max_results: true }, "max_results", whole],
    [{ query: "x", max_results: "1" }, "max_results", whole],
    [{ query: "x", max_results: null }, "max_results", whole],
    [{ query: "x", "bad`\n\u202ename": 1 }, "bad???name", "is not a field of this tool"],
    [{ query: "x", toString: 1 }, "toString", "is not a field of this tool"],
    [JSON.parse('{"query":"x","__proto__":{}}'), "__proto__", "is not a field of this tool"],
  ])(
    "search refuses %j (documents-arguments-1) (documents-arguments-2) (documents-arguments-3)",
    (given, field, rule) => {
      expect(searchArguments(given)).toEqual({ ok: false, refusal: { field, rule } });
    },
  );

  const report = { filename: "a.md", content: "x", approval_token: "t" };
  test.each([
    [{ ...report, approval_token: "t".repeat(2_049) }, "approval_token", "must be a string of 1 to 2048 characters"],
    [{ ...report, operation_id: "A".repeat(64) }, "operation_id", "must be 64 lower-case hexadecimal digits"],
    [{ ...report, operation_id: `${"a".repeat(64)}\n` }, "operation_id", "must be 64 lower-case hexadecimal digits"],
    [{ ...report, approver: "me" }, "approver", "is not a field of this tool"],
    [{ filename: "a.md", content: "x" }, "approval_token", "is missing"],
  ])("save refuses %#", (given, field, rule) => {
    expect(saveArguments(given)).toEqual({ ok: false, refusal: { field, rule } });
  });

  test("an inherited field is no field", () => {
    expect(operationArguments(Object.create({ operation_id: "a".repeat(64) }))).toEqual({
      ok: false,
      refusal: { field: "operation_id", rule: "is missing" },
    });
  });
});

test("what the listed schemas refuse is refused, and what they take is taken, bytes and well-formedness aside (documents-contracts-1)", () => {
  const ajv = new Ajv2020({ strict: false });
  const tools = [
    ["search_documents", searchArguments],
    ["read_document", readArguments],
    ["save_report", saveArguments],
    ["get_operation", operationArguments],
  ] as const;
  const hex = fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: 63, maxLength: 65 });
  const value = fc.oneof(
    fc.constantFrom("a.md", "a.md\n", "x/a.md", `${"x".repeat(64)}.md`, `${"x".repeat(65)}.md`, true, null, [], {}),
    hex,
    fc.integer({ min: -1, max: 5 }),
    fc.double(),
    fc.string({ unit: "binary", maxLength: 90 }),
    fc.constantFrom(80, 81, 2_048, 2_049, 8_000, 8_001).map((length) => "x".repeat(length)),
  );
  const fields = ["query", "max_results", "filename", "content", "approval_token", "operation_id", "other"] as const;
  const record = fc.record(Object.fromEntries(fields.map((field) => [field, value])), { requiredKeys: [] });
  const SEED = 20_261_130;
  for (const [tool, parse] of tools) {
    const valid = ajv.compile(definitions[tool].inputSchema);
    const listed = Object.keys(definitions[tool].inputSchema.properties ?? {});
    const near = record.map((given) =>
      Object.fromEntries(Object.entries(given).filter(([field]) => listed.includes(field) || given["other"] === true)),
    );
    let taken = 0;
    // A fixed seed: by chance alone all of a tool's calls are refused now and then.
    fc.assert(
      fc.property(near, (given) => {
        const { ok } = parse(given);
        if (ok) taken += 1;
        expect(ok).toBe(valid(given) && !Object.values(given).some((text) => /\p{Surrogate}/u.test(String(text))));
      }),
      { numRuns: 2_000, seed: SEED },
    );
    expect(taken).toBeGreaterThan(0);
  }
});
