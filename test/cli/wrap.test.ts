// Lines that are broken here and not by the terminal, so that no part of another's text can pose as a line of ours.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ApprovalPayload, approvalPayload } from "../../src/approval/index.js";
import { askQuestions } from "../../src/cli/ask.js";
import { widthOf } from "../../src/cli/cells.js";
import { wrapped } from "../../src/cli/wrap.js";
import type { JsonObject } from "../../src/contracts/index.js";
import { question } from "../approval/questions.js";

const plain = { bold: (text: string) => text, dim: (text: string) => text, warn: (text: string) => text };

/** The lines above the prompt, as they are drawn at this width. */
async function drawn(asked: ApprovalPayload, columns: number): Promise<string[]> {
  let text = "";
  await askQuestions(
    {
      style: plain,
      width: () => columns,
      write: (more) => {
        text += `${more}\n`;
      },
      ask: async () => ({ kind: "end" }),
      answer: async () => undefined,
    },
    asked,
  );
  return text.split("\n");
}

function asked(args: JsonObject, description: string): ApprovalPayload {
  const plainQuestion = question("a", args);
  return approvalPayload([{ ...plainQuestion, tool: { ...plainQuestion.tool, title: "", description } }]);
}

const hostile = fc
  .array(
    fc.constantFrom(
      "\u2800",
      "w",
      "w w",
      "漢",
      "👨‍👩‍👧‍👦",
      "e\u0301",
      "\u202E",
      "\n",
      'path: "/tmp/safe"',
      "Write: `x` of `y`",
      " ".repeat(30),
      "\t",
    ),
    { maxLength: 60 },
  )
  .map((parts) => parts.join(""));

describe("a question at any width from 20 to 200", () => {
  const SERVER = "ſ"; // a letter that stands in no word of ours

  // A description padded to the width of the terminal put `path: "/tmp/safe"` into a line of its own, right above the prompt.
  test("every line with a server's words begins with its mark, and none is wider than the terminal (wrap-1, wrap-2, G10)", async () => {
    await fc.assert(
      fc.asyncProperty(hostile, fc.integer({ min: 20, max: 200 }), async (text, columns) => {
        const marked = [...text].map((letter) => `${SERVER}${letter}`).join("");
        for (const line of await drawn(asked({ path: "b" }, marked), columns)) {
          expect(widthOf(line)).toBeLessThan(columns);
          if (line.includes(SERVER)) expect(line.startsWith("> ")).toBe(true);
        }
      }),
      { numRuns: 150 },
    );
  });

  test("every line with an argument's text begins with its mark or its key (wrap-1, show-3, questions-4)", async () => {
    await fc.assert(
      fc.asyncProperty(hostile, fc.integer({ min: 20, max: 200 }), async (text, columns) => {
        const marked = [...text].map((letter) => `${SERVER}${letter}`).join("");
        const lines = await drawn(asked({ note: marked }, "d"), columns);
        for (const line of lines)
          if (line.includes(SERVER)) expect(line.startsWith("  | ") || line.startsWith('note: "')).toBe(true);
      }),
      { numRuns: 150 },
    );
  });

  test("breaking loses no character, and breaks none twice (property, wrap-2)", () => {
    fc.assert(
      fc.property(hostile, fc.integer({ min: 20, max: 200 }), (text, columns) => {
        const line = `> ${text.replace(/[\n\t]/g, "")}`;
        const made = wrapped(line, columns);
        expect(
          `> ${made
            .split("\n")
            .map((part) => part.slice(2))
            .join("")}`,
        ).toBe(line);
        expect(wrapped(made, columns)).toBe(made);
      }),
    );
  });

  test("the last line above the prompt names the tool and where the call goes (questions-5)", async () => {
    const one = question("a", { path: "b" });
    const destination = { text: "runs `node documents.js`", digest: "d".repeat(64), moved: 0 };
    const lines = await drawn(approvalPayload([{ ...one, request: { ...one.request, destination } }]), 200);
    expect(lines.at(-2)).toBe("You answer for `save_report` of `documents`, where it goes: runs `node documents.js`");
  });
});

// A person could not tell a long line of a file from two lines.
test("a broken line of a value ends with a sign that a whole line cannot have there (wrap-3)", () => {
  expect(wrapped(`  | ${"a".repeat(30)}`, 24).split("\n")).toEqual([
    `  | ${"a".repeat(18)}\\`,
    `  | ${"a".repeat(12)}`,
  ]);
  expect(wrapped(`  | ${"a".repeat(17)}\\\n  | ${"a".repeat(12)}`, 24).split("\n")).toEqual([
    `  | ${"a".repeat(17)}\\`,
    `  | ${"a".repeat(12)}`,
  ]);
});

test.each([
  ["plain", 5],
  ["漢字", 4],
  ["e\u0301", 1],
  ["1️⃣", 2],
  ["👍🏽", 4],
  ["Привет", 6],
  ["a\tb", 9],
])("%j takes %d cells at most", (text, cells) => expect(widthOf(text)).toBe(cells));
