import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AnswerContext, type PersonAnswer, readAnswer } from "../../src/approval/index.js";
import { NOW, question } from "./questions.js";

const NAME = "mcp__documents__save_report";
const one = question("one", { filename: "a.md" });
const two = question("two", { filename: "b.md" });
const hidden = question("hidden", { filename: "a\u200b.md" });
const context: AnswerContext = { now: NOW, positional: "accept" };

function answers(value: unknown, questions = [one, two], where = context): [string, PersonAnswer][] {
  const read = readAnswer(value, questions, where);
  if (read.kind === "again") throw new Error(read.reason);
  return [...read.answers];
}

function reason(value: unknown, questions = [one, two], where = context): string {
  const read = readAnswer(value, questions, where);
  if (read.kind === "answers") throw new Error(`taken: ${JSON.stringify([...read.answers])}`);
  return read.reason;
}

const approve = { type: "approve" };

describe("answers that count", () => {
  test("by id, for all or for some of the questions", () => {
    expect(answers({ decisions: { two: approve, one: { type: "reject", message: "no" } } })).toEqual([
      ["two", { type: "approve" }],
      ["one", { type: "reject", message: "no" }],
    ]);
    expect(answers({ decisions: { two: approve } })).toEqual([["two", { type: "approve" }]]);
  });

  test("as a list in order, as LangChain's screens send it", () => {
    expect(answers({ decisions: [approve, { type: "reject" }] })).toEqual([
      ["one", { type: "approve" }],
      ["two", { type: "reject" }],
    ]);
  });

  test("as a list in which every item has its id, in any order", () => {
    expect(answers({ decisions: [{ approvalId: "two", ...approve }] })).toEqual([["two", { type: "approve" }]]);
    expect(
      answers({
        decisions: [
          { approvalId: "two", type: "reject" },
          { type: "approve", approvalId: "one" },
        ],
      }),
    ).toEqual([
      ["two", { type: "reject" }],
      ["one", { type: "approve" }],
    ]);
  });

  test("as one object for one question, as the command and the service send it", () => {
    expect(answers({ approvalId: "two", type: "reject", message: "" })).toEqual([
      ["two", { type: "reject", message: "" }],
    ]);
  });

  test.each(["editedAction", "edited_action"])("an edit under `%s`", (key) => {
    const edit = { type: "edit", [key]: { name: NAME, args: { filename: "c.md" } } };
    expect(answers({ decisions: { one: edit } })).toEqual([["one", { type: "edit", arguments: { filename: "c.md" } }]]);
  });

  test("properties that are undefined count as absent", () => {
    expect(answers({ decisions: { one: { type: "reject", message: undefined } } })).toEqual([
      ["one", { type: "reject" }],
    ]);
  });

  test("arguments with hidden characters can be approved or rejected", () => {
    expect(answers({ decisions: { hidden: approve } }, [hidden])).toEqual([["hidden", { type: "approve" }]]);
  });

  test("what was read does not change with what was sent", () => {
    const args = { filename: "c.md" };
    const read = answers({ decisions: { one: { type: "edit", editedAction: { name: NAME, args } } } });
    args.filename = "d.md";
    expect(read).toEqual([["one", { type: "edit", arguments: { filename: "c.md" } }]]);
  });
});

// Decisions were matched by their position, and only their number was checked.
describe("everything else asks again (answer-1)", () => {
  const HOW = "answer with { decisions: { approvalId: { type: approve, edit or reject } } }";

  test.each([
    undefined,
    null,
    true,
    false,
    0,
    1,
    "",
    "yes",
    "approve",
    '{"decisions":{"one":{"type":"approve"}}}',
    [],
    [approve, approve],
    Symbol("yes"),
    10n,
    () => approve,
    new Date(0),
    new Map([["decisions", { one: approve }]]),
    new (class Answer {
      decisions = { one: approve };
    })(),
  ])("%o is no JSON object", (value) => {
    expect(reason(value)).toBe(`the answer is no JSON object; ${HOW}`);
  });

  test.each<[unknown, string]>([
    [{}, `the answer names no question; ${HOW}`],
    [approve, `the answer names no question; ${HOW}`],
    [{ approvalId: 1, ...approve }, `the answer names no question; ${HOW}`],
    [{ decisions: undefined }, `the answer names no question; ${HOW}`],
    [{ decisions: null }, `\`decisions\` is neither an object nor a list; ${HOW}`],
    [{ decisions: "approve" }, `\`decisions\` is neither an object nor a list; ${HOW}`],
    [{ decisions: true }, `\`decisions\` is neither an object nor a list; ${HOW}`],
    [{ decisions: {} }, `the answer holds no decision; ${HOW}`],
    [{ decisions: { one: approve }, all: true }, `beside \`decisions\` stands \`all\`; ${HOW}`],
    [{ decisions: { one: approve }, approvalId: "one" }, `beside \`decisions\` stands \`approvalId\`; ${HOW}`],
    [{ decisions: { other: approve } }, "no open question has the id `other`"],
    [
      { decisions: { [one.operation.id.slice(0, 8)]: approve } },
      `no open question has the id \`${one.operation.id.slice(0, 8)}\``,
    ],
    [{ decisions: { one: approve, other: approve } }, "no open question has the id `other`"],
    [{ decisions: { constructor: approve } }, "no open question has the id `constructor`"],
    [{ approvalId: "other", ...approve }, "no open question has the id `other`"],
    [{ approvalId: "one" }, "the answer to `one` cannot be taken: `type` is not `approve`, `edit` or `reject`"],
  ])("%o", (value, expected) => {
    expect(reason(value)).toBe(expected);
  });

  test.each<[unknown, string]>([
    [null, "it is no object"],
    [true, "it is no object"],
    ["approve", "it is no object"],
    [[approve], "it is no object"],
    [{}, "`type` is not `approve`, `edit` or `reject`"],
    [{ type: "accept" }, "`type` is not `approve`, `edit` or `reject`"],
    [{ type: "Approve" }, "`type` is not `approve`, `edit` or `reject`"],
    [{ type: ["approve"] }, "`type` is not `approve`, `edit` or `reject`"],
    [{ type: "approve", message: "but only once" }, "it holds `message`, which means nothing here"],
    [{ type: "approve", editedAction: {} }, "it holds `editedAction`, which means nothing here"],
    [{ type: "reject", message: 1 }, "`message` is no text"],
    [{ type: "reject", message: null }, "`message` is no text"],
    [{ type: "reject", message: "\ud800" }, "`message` is no text"],
    [{ type: "reject", message: "x".repeat(4_001) }, "`message` is above 4000 characters"],
    [{ type: "reject", because: "no" }, "it holds `because`, which means nothing here"],
    [{ type: "edit" }, "`editedAction` is no object"],
    [{ type: "edit", args: { filename: "c.md" } }, "it holds `args`, which means nothing here"],
    [{ type: "edit", editedAction: {}, edited_action: {} }, "`editedAction` and `edited_action` are both given"],
    [{ type: "edit", editedAction: { args: {} } }, `an edit keeps the name \`${NAME}\``],
    [{ type: "edit", editedAction: { name: "wire", args: {} } }, `an edit keeps the name \`${NAME}\``],
    [{ type: "edit", editedAction: { name: NAME } }, "`args` is no JSON object"],
    [{ type: "edit", editedAction: { name: NAME, args: [] } }, "`args` is no JSON object"],
    [{ type: "edit", editedAction: { name: NAME, args: "{}" } }, "`args` is no JSON object"],
    [{ type: "edit", editedAction: { name: NAME, args: null } }, "`args` is no JSON object"],
    [
      { type: "edit", editedAction: { name: NAME, args: {}, server: "x" } },
      "it holds `server`, which means nothing here",
    ],
    [
      { type: "edit", editedAction: { name: NAME, args: { a: "\udc00" } } },
      "`args` holds a lone surrogate in a string",
    ],
    [
      { type: "edit", editedAction: { name: NAME, args: { a: "\u200b" } } },
      "the edited arguments hold hidden characters",
    ],
    [{ type: "edit", editedAction: { name: NAME, args: deep(70) } }, "`args` holds nested deeper than 64"],
  ])("decision %o: %s", (decision, expected) => {
    const full = `the answer to \`one\` cannot be taken: ${expected}`;
    expect(reason({ decisions: { one: decision } })).toBe(full);
    expect(reason({ decisions: { two: approve, one: decision } })).toBe(full); // answer-2
  });

  test("arguments with hidden characters are not edited (answer-5)", () => {
    const edit = { type: "edit", editedAction: { name: NAME, args: { filename: "c.md" } } };
    expect(reason({ decisions: { hidden: edit } }, [hidden])).toBe(
      "the answer to `hidden` cannot be taken: arguments with hidden characters can be approved or rejected, not edited",
    );
  });

  // Decisions were matched by their position, and only their number was checked.
  test.each([
    ["not a number", { decisions: { one: { type: "edit", editedAction: { name: NAME, args: { a: Number.NaN } } } } }],
    ["a hole", { decisions: { one: { type: "edit", editedAction: { name: NAME, args: { a: new Array(1) } } } } }],
    ["a getter", { decisions: Object.defineProperty({}, "one", { enumerable: true, get: () => approve }) }],
    ["an own __proto__", JSON.parse('{"decisions":{"__proto__":{"type":"approve"}}}')],
    ["a cycle", cycle()],
    ["a value that doubles at every level", doubling(60)],
  ])("%s is no JSON", (_name, value) => {
    expect(reason(value)).toBe(`the answer is no JSON object; ${HOW}`);
  });
});

describe("lists without ids (answer-4)", () => {
  const both = [approve, approve];

  test.each([
    [[], "0 decisions came for 2 open questions"],
    [[approve], "1 decisions came for 2 open questions"],
    [[approve, approve, approve], "3 decisions came for 2 open questions"],
  ])("of another length: %o", (decisions, expected) => {
    expect(reason({ decisions })).toBe(expected);
  });

  test("an empty list when nothing is open", () => {
    expect(reason({ decisions: [] }, [])).toMatch(/^the answer holds no decision/);
  });

  test.each([
    [999, false],
    [1_000, true],
    [-5_000, false],
  ])("whose youngest question is %i ms old: taken is %s", (age, taken) => {
    const young = { ...two, request: { ...two.request, createdAt: NOW - age } };
    expect(readAnswer({ decisions: both }, [one, young], context).kind).toBe(taken ? "answers" : "again");
    expect(readAnswer({ decisions: { two: approve } }, [one, young], context).kind).toBe("answers");
  });

  test("where the host refuses them", () => {
    const where = { now: NOW, positional: "refuse" } as const;
    expect(reason({ decisions: both }, [one, two], where)).toMatch(
      /^this host takes no decisions without an `approvalId`/,
    );
    expect(answers({ decisions: [{ approvalId: "one", ...approve }] }, [one, two], where)).toHaveLength(1);
  });

  test("with ids on some items only", () => {
    const mixed = [approve, { approvalId: "two", ...approve }];
    expect(reason({ decisions: mixed })).toBe("some decisions name an `approvalId` and some do not; all must");
    expect(reason({ decisions: [{ approvalId: "two", ...approve }, null] })).toMatch(/^some decisions name/);
    expect(reason({ decisions: [{ approvalId: null, ...approve }, approve] })).toMatch(/^some decisions name/);
  });

  test("with one id twice (answer-3)", () => {
    const item = { approvalId: "two", ...approve };
    expect(reason({ decisions: [item, item] })).toBe("`two` is answered twice");
    expect(reason({ decisions: [item, { ...item, type: "reject" }] })).toBe("`two` is answered twice");
  });
});

// The same interrupt could be resumed twice with different values.
// Ids made of the time and Math.random were shown in the stream.
describe("an id must be exact, and takes one answer", () => {
  test("an answered question is not open any more: the same answer again asks again", () => {
    expect(answers({ decisions: { one: approve } }, [one, two])).toHaveLength(1);
    expect(reason({ decisions: { one: approve } }, [two])).toBe("no open question has the id `one`");
    expect(reason({ decisions: { one: { type: "reject" } } }, [two])).toBe("no open question has the id `one`");
  });

  test.each(["ONE", "one ", " one", "on", "one\u200b", one.operation.id, one.operation.callId])(
    "`%s` is not `one`",
    (id) => {
      expect(readAnswer({ decisions: { [id]: approve } }, [one], context).kind).toBe("again");
    },
  );
});

describe("for all values", () => {
  const decision = fc.oneof(
    fc.constant(approve),
    fc.record({ type: fc.constantFrom("approve", "reject", "edit", "yes") }),
    fc.record({ type: fc.constantFrom("approve", "reject"), message: fc.anything() }),
    fc.record({
      type: fc.constant("edit"),
      editedAction: fc.record({ name: fc.constantFrom(NAME, "x"), args: fc.anything() }),
    }),
    fc.anything(),
  );
  const id = fc.constantFrom("one", "two", "three", "__proto__");
  const near = fc.oneof(
    fc.record({ decisions: fc.dictionary(id, decision) }),
    fc.record({ decisions: fc.array(decision, { maxLength: 3 }) }),
    fc.record({
      decisions: fc.array(fc.record({ approvalId: id, type: fc.constantFrom("approve", "no") }), { maxLength: 3 }),
    }),
    fc.record({ approvalId: id, type: fc.constantFrom("approve", "reject", "no") }),
  );
  const everything = { withBigInt: true, withDate: true, withMap: true, withSet: true, withSparseArray: true };

  test("is total, and never a yes for a question that was not answered yes (answer-1, G9)", () => {
    const value = fc.oneof(fc.anything({ ...everything, withNullPrototype: true, withBoxedValues: true }), near);
    fc.assert(
      fc.property(value, fc.constantFrom("accept" as const, "refuse" as const), (given, positional) => {
        const read = readAnswer(given, [one, two], { now: NOW, positional });
        if (read.kind === "again") {
          expect(read.reason).not.toBe("");
          return;
        }
        expect(read.answers.size).toBeGreaterThan(0);
        for (const [approvalId, answer] of read.answers) {
          expect(["one", "two"]).toContain(approvalId);
          expect(answer.type).toBe(said(given, approvalId));
        }
      }),
      { numRuns: 2_000 },
    );
  });

  /** The word that was said about a question, found as directly as possible. */
  function said(given: unknown, approvalId: string): unknown {
    const { decisions, ...single } = given as { decisions?: unknown; approvalId?: string; type?: unknown };
    if (decisions === undefined) return single.approvalId === approvalId ? single.type : undefined;
    if (!Array.isArray(decisions)) return (decisions as Record<string, { type: unknown }>)[approvalId]?.type;
    const named = decisions.find((item: { approvalId?: unknown }) => item.approvalId === approvalId);
    return (named ?? decisions[approvalId === "one" ? 0 : 1]).type;
  }
});

function deep(levels: number): unknown {
  let value: unknown = {};
  for (let level = 0; level < levels; level++) value = { a: value };
  return value;
}

function cycle(): unknown {
  const value: Record<string, unknown> = {};
  value.decisions = value;
  return value;
}

function doubling(levels: number): unknown {
  let value: unknown = {};
  for (let level = 0; level < levels; level++) value = { a: value, b: value };
  return { decisions: value };
}
