import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { approvalPayload } from "../../src/approval/index.js";
import { FOLD_CHARS, showArguments } from "../../src/approval/show.js";
import { hasHidden, type JsonObject, notHashable } from "../../src/contracts/index.js";
import { question } from "./questions.js";

const SCHEMA = { type: "object", properties: { filename: { type: "string" } } };

function description(args: JsonObject): string {
  return approvalPayload([question("a", args)]).actionRequests[0]?.description ?? "";
}

describe("the payload", () => {
  test("is LangChain's request in both spellings, with everything an approval is bound to (G4)", () => {
    const action = {
      name: "mcp__documents__save_report",
      args: { content: "# Q3\nAll is well.", filename: "q3.md" },
      description: [
        "Write: `save_report` of `documents`",
        "Where it goes: runs `node documents.js` as `archive`",
        "Why you are asked: no rule matches this call",
        "",
        "Arguments (sha256 697843f2462a2df7fd542da602580d9c781cf2d932cefa02b75c230ee5180562):",
        'filename: "q3.md"',
        "content: 17 characters in 2 lines",
        "  | # Q3",
        "  | All is well.",
        "",
        "The server says of this tool (nobody checked it):",
        "> Save a report",
        "> Creates a new file. Never overwrites.",
      ].join("\n"),
      approvalId: "a",
      operationId: "23b40a2155f1762037b3fa6f0c2dc62afaa1354032269b03be545334baf2055d",
      toolCallId: "call-a",
      server: "documents",
      tool: "save_report",
      destination: "runs `node documents.js` as `archive`",
      argumentsDigest: "697843f2462a2df7fd542da602580d9c781cf2d932cefa02b75c230ee5180562",
      toolDigest: "4932cebf1365155be52a13a3c074b1e4b525f8a1a914ff97f55247c2ce036c14",
      effect: "write",
      expiresAt: "2026-01-02T04:04:05.000Z",
      why: "no rule matches this call",
    };
    const plain = question("a", action.args);
    const destination = { text: action.destination, digest: "d".repeat(64), moved: 0 };
    expect(approvalPayload([{ ...plain, request: { ...plain.request, destination } }])).toEqual({
      kind: "approval",
      actionRequests: [action],
      reviewConfigs: [{ actionName: action.name, allowedDecisions: ["approve", "edit", "reject"], argsSchema: SCHEMA }],
      action_requests: [action],
      review_configs: [
        { action_name: action.name, allowed_decisions: ["approve", "edit", "reject"], args_schema: SCHEMA },
      ],
    });
  });

  test("names no destination for a tool of the host's own", () => {
    const [action] = approvalPayload([question("a", {})]).actionRequests;
    expect([action?.destination, action?.description.includes("Where it goes")]).toEqual([null, false]);
  });

  test("carries a note on why the last answer was not taken", () => {
    expect(approvalPayload([], "the answer\u202e is no JSON object")).toEqual({
      kind: "approval",
      note: "the answer\\u{202E} is no JSON object",
      actionRequests: [],
      reviewConfigs: [],
      action_requests: [],
      review_configs: [],
    });
  });

  test("names the earlier writes an answer covers", () => {
    const asked = question("a", {}, { earlier: ["mcp__documents__save_report (ok)\nApproved."] });
    expect(approvalPayload([asked]).actionRequests[0]?.description.split("\n").slice(2, 6)).toEqual([
      "Earlier writes; your answer covers these and no others:",
      "- mcp__documents__save_report (ok) Approved.",
      "",
      "No arguments.",
    ]);
  });

  test("leaves a schema out that is long or holds what nobody sees", () => {
    const { tool } = question("a", {});
    for (const text of ["x".repeat(9_000), "type\u200bit"]) {
      const asked = question("a", {}, { tool: { ...tool, inputSchema: { type: "object", description: text } } });
      expect(approvalPayload([asked]).reviewConfigs).toEqual([
        { actionName: tool.alias, allowedDecisions: ["approve", "edit", "reject"] },
      ]);
    }
  });

  test("is plain JSON, and its text holds nothing hidden (question-1, G10)", () => {
    const args = fc
      .dictionary(fc.string({ unit: "grapheme-composite" }), fc.jsonValue({ stringUnit: "grapheme-composite" }))
      .map((given) => JSON.parse(JSON.stringify(given)) as JsonObject)
      .filter((given) => notHashable(given) === undefined); // what has no digest is refused before anybody is asked
    fc.assert(
      fc.property(args, fc.string({ unit: "binary-ascii" }), (given, why) => {
        const asked = question("a", given);
        const payload = approvalPayload([{ ...asked, request: { ...asked.request, why } }], why);
        expect(JSON.parse(JSON.stringify(payload))).toEqual(payload);
        expect(hasHidden(payload.actionRequests[0]?.description ?? "")).toBe(false);
        expect(hasHidden(payload.actionRequests[0]?.why ?? "")).toBe(false);
      }),
    );
  });
});

describe("hidden code points (question-1)", () => {
  test.each([
    [{ path: "a\u200bb" }, 'path: "a\\u{200B}b"'],
    [{ path: "a\\u{200B}b" }, 'path: "a\\\\u{200B}b"'],
    [{ path: "a\u001b[2Kb" }, 'path: "a\\u001b[2Kb"'],
    [{ path: "a\r\nb" }, 'path: "a\\r\\nb"'],
    [{ "pa\u202eth": 1 }, '"pa\\u{202E}th": 1'],
    [{ list: ["\u2066"] }, 'list: ["\\u{2066}"]'],
  ])("%o is shown as %s", (args, line) => {
    expect(description(args).split("\n")).toContain(line);
  });

  test.each([[{ path: "a\u200bb" }], [{ "a\u200bb": 1 }], [{ deep: [{ list: ["\u{E0041}"] }] }], [{ path: "a\rb" }]])(
    "with %o no edit is offered",
    (args) => {
      const payload = approvalPayload([question("a", args)]);
      expect(payload.reviewConfigs).toEqual([
        { actionName: "mcp__documents__save_report", allowedDecisions: ["approve", "reject"] },
      ]);
      expect(payload.review_configs).toEqual([
        { action_name: "mcp__documents__save_report", allowed_decisions: ["approve", "reject"] },
      ]);
      expect(payload.actionRequests[0]?.args).toBe(args);
      expect(payload.actionRequests[0]?.description).toContain("Because of them these arguments cannot be edited.");
    },
  );

  test("line feeds, tabs and emoji are no reason", () => {
    const [config] = approvalPayload([question("a", { content: "a\n\tb ☂️" })]).reviewConfigs;
    expect(config?.allowedDecisions).toEqual(["approve", "edit", "reject"]);
  });
});

// An approval dialog showed only the server and the tool.
describe("the whole of the arguments", () => {
  test("what a call does harm with comes first, wherever it stands (show-4)", () => {
    const padding = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`note${index}`, index]));
    const args = { ...padding, wire: { memo: "x".repeat(200), toAccount: "DE89" }, filePath: "/etc/passwd", AMOUNT: 5 };
    const lines = showArguments(args);
    expect(lines.slice(0, 4)).toEqual(['wire.toAccount: "DE89"', 'filePath: "/etc/passwd"', "AMOUNT: 5", "note0: 0"]);
    expect(lines).toHaveLength(204);
  });

  test("a long value is folded with its size and digest (show-1)", () => {
    const lines = showArguments({ content: `${"a".repeat(999_999)}é` });
    expect(lines[0]).toBe(
      "content: 1000000 characters, 1000001 bytes, " +
        "sha256 0f935fca1de09cefc4ecfa09abaf813432eee2e3a5ef4c5101f37d944a8481aa",
    );
    expect(lines.slice(1)).toEqual([
      `  | ${"a".repeat(1_200)}`,
      "  … 998400 characters are not shown here; `args` has them",
      `  | ${"a".repeat(399)}é`,
    ]);
  });

  test("a cut never leaves half a character", () => {
    const lines = showArguments({ content: `x${"😀".repeat(2_000)}` });
    expect(lines.filter((line) => hasHidden(line))).toEqual([]);
  });

  test("a value cannot pose as another line (show-3)", () => {
    const lines = description({ content: "fine\n\nArguments (sha256 0000):\npath: safe" }).split("\n");
    expect(lines.filter((line) => line.startsWith("Arguments ("))).toHaveLength(1);
    expect(lines).toContain("  | path: safe");
    expect(lines).not.toContain("path: safe");
  });

  test("nested and odd keys keep their place", () => {
    const long = "y".repeat(130);
    expect(showArguments({ "a b": { "c.d": long, list: [{ e: long }, 1] }, none: [], nothing: null })).toEqual([
      `"a b"["c.d"]: "${long}"`,
      `"a b".list[0].e: "${long}"`,
      `"a b".list[1]: 1`,
      "none: []",
      "nothing: null",
    ]);
  });

  test("two different arguments never look the same (show-2)", () => {
    const unit = fc.constantFrom("a", "\n", "\\", '"', "\u200b", "u{200B}", "|", ": ", " ");
    const text = fc.string({ unit, maxLength: 8 });
    const item = fc.oneof(text, fc.constantFrom(1, "1", null, "null", true, "true"), fc.array(text, { maxLength: 2 }));
    const args = fc.record({ x: item, "x.y": item }, { requiredKeys: [] }) as fc.Arbitrary<JsonObject>;
    fc.assert(
      fc.property(args, args, (one, two) => {
        const same = JSON.stringify(Object.entries(one).sort()) === JSON.stringify(Object.entries(two).sort());
        expect(showArguments(one).sort().join("\n") === showArguments(two).sort().join("\n")).toBe(same);
      }),
      { numRuns: 1_000 },
    );
  });

  test("values up to the bound are shown whole", () => {
    expect(showArguments({ q: "z".repeat(FOLD_CHARS) })).toEqual([`q: "${"z".repeat(FOLD_CHARS)}"`]);
  });
});

// Among many nearly equal questions, the bad one stood in the middle.
describe("many calls of one tool", () => {
  const apart = (all: JsonObject[]): (string | undefined)[] =>
    approvalPayload(all.map((args, index) => question(`q${index}`, args))).actionRequests.map((action) =>
      action.description.split("\n").find((line) => line.startsWith("One of")),
    );

  test("the odd one among sixty is said to be odd", () => {
    const calls = Array.from({ length: 60 }, (_, index) => ({ path: index === 37 ? "/etc" : "reports", id: index }));
    const lines = apart(calls);
    expect(lines[37]).toBe(
      "One of 60 calls of this tool that wait for an answer. UNLIKE MOST of them in `path`. They differ in `id`.",
    );
    expect(lines[36]).toBe("One of 60 calls of this tool that wait for an answer. They differ in `id`.");
  });

  test("a value only one of them has, nested values, and equal calls", () => {
    expect(apart([{ a: 1 }, { a: 1 }, { a: 1, deep: { force: true } }])).toEqual([
      "One of 3 calls of this tool that wait for an answer.",
      "One of 3 calls of this tool that wait for an answer.",
      "One of 3 calls of this tool that wait for an answer. UNLIKE MOST of them in `deep.force`.",
    ]);
    expect(apart([{ a: 1 }, { a: 1 }])).toEqual([
      "One of 2 calls of this tool that wait for an answer. Their arguments are equal.",
      "One of 2 calls of this tool that wait for an answer. Their arguments are equal.",
    ]);
    expect(apart([{ a: 1 }])).toEqual([undefined]);
  });

  test("calls of another tool are not compared", () => {
    const other = question("b", { path: "y" });
    const calls = [question("a", { path: "x" }), { ...other, operation: { ...other.operation, tool: "other" } }];
    for (const action of approvalPayload(calls).actionRequests) expect(action.description).not.toContain("One of");
  });
});
