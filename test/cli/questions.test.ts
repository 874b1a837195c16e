// The dialog about open questions: what is shown, and what is taken for a yes.

import { describe, expect, test } from "vitest";
import { type ApprovalPayload, approvalPayload } from "../../src/approval/index.js";
import { askQuestions } from "../../src/cli/ask.js";
import type { Typed } from "../../src/cli/prompt.js";
import { digest, type JsonObject, ToolgateError } from "../../src/contracts/index.js";
import type { PersonAnswer } from "../../src/index.js";

const plain = { bold: (text: string) => text, dim: (text: string) => text, warn: (text: string) => text };

function payload(...calls: JsonObject[]): ApprovalPayload {
  return approvalPayload(
    calls.map((args, index) => {
      const operationId = digest(["proposal", index]);
      const argumentsDigest = digest(args);
      const toolDigest = digest("tool");
      const common = { operationId, threadId: "t", scope: "local", argumentsDigest, toolDigest };
      return {
        request: {
          ...common,
          approvalId: `a${index}`,
          why: "asked about by a rule",
          seen: [],
          createdAt: 0,
          expiresAt: 9,
        },
        operation: {
          id: operationId,
          proposalId: "p",
          index,
          callId: `c${index}`,
          alias: "mcp__files__write",
          server: "files",
          tool: "write",
          arguments: args,
          argumentsDigest,
          effect: "write" as const,
          decision: null,
        },
        tool: {
          alias: "mcp__files__write",
          server: "files",
          tool: "write",
          description: "",
          inputSchema: {},
          digest: toolDigest,
        },
        earlier: [],
      };
    }),
  );
}

interface Seen {
  readonly finished: boolean;
  readonly answers: readonly (readonly [string, PersonAnswer])[];
  readonly shown: string;
  readonly prompts: readonly string[];
}

/** Asks the questions of a person who types these lines. After the last line the input ends. */
async function dialog(
  asked: ApprovalPayload,
  typed: readonly (string | Typed)[],
  refuse: (approvalId: string) => ToolgateError | undefined = () => undefined,
): Promise<Seen> {
  const lines = [...typed];
  const answers: [string, PersonAnswer][] = [];
  const prompts: string[] = [];
  let shown = "";
  const finished = await askQuestions(
    {
      style: plain,
      write: (text) => {
        shown += `${text}\n`;
      },
      ask: async (prompt) => {
        prompts.push(prompt);
        const next = lines.shift();
        if (next === undefined) return { kind: "end" };
        return typeof next === "string" ? { kind: "line", text: next } : next;
      },
      answer: async (approvalId, answer) => {
        const refused = refuse(approvalId);
        if (refused) throw refused;
        answers.push([approvalId, answer]);
      },
    },
    asked,
  );
  return { finished, answers, shown, prompts };
}

describe("only the exact word is a yes (questions-2)", () => {
  test("approve", async () => {
    const { finished, answers } = await dialog(payload({ path: "a" }), ["approve"]);
    expect({ finished, answers }).toEqual({ finished: true, answers: [["a0", { type: "approve" }]] });
  });

  test.each(["y", "yes", "Approve", "approve ", " approve", "approve all", "ok", "1", "true"])(
    "not %j",
    async (word) => {
      const { finished, answers, shown } = await dialog(payload({ path: "a" }), [word]);
      expect({ finished, answers }).toEqual({ finished: false, answers: [] });
      expect(shown).toContain("that is no answer");
    },
  );

  test("nothing typed stops here", async () => {
    expect(await dialog(payload({ path: "a" }), [""])).toMatchObject({ finished: false, answers: [] });
  });

  test("the end of input stops here", async () => {
    expect(await dialog(payload({ path: "a" }), [])).toMatchObject({ finished: false, answers: [] });
  });

  test("a paste is asked about again", async () => {
    const { finished, answers } = await dialog(payload({ path: "a" }), [{ kind: "paste" }, "approve"]);
    expect({ finished, answers }).toEqual({ finished: true, answers: [["a0", { type: "approve" }]] });
  });
});

describe("a no and a change", () => {
  test("reject, with and without words for the model", async () => {
    const { answers } = await dialog(payload({ path: "a" }, { path: "b" }), ["reject", "reject not on a Friday"]);
    expect(answers).toEqual([
      ["a0", { type: "reject" }],
      ["a1", { type: "reject", message: "not on a Friday" }],
    ]);
  });

  test("edit takes one JSON object, strictly", async () => {
    const typed = ["edit", "{", '{"path":"a","path":"b"}', "[]", '{"path":"b"}'];
    const { answers, shown } = await dialog(payload({ path: "a" }), typed);
    expect(answers).toEqual([["a0", { type: "edit", arguments: { path: "b" } }]]);
    expect(shown).toContain("the key `path` stands twice");
  });

  test("edit and then nothing stops here", async () => {
    expect(await dialog(payload({ path: "a" }), ["edit", ""])).toMatchObject({ finished: false, answers: [] });
  });

  test("arguments with hidden characters cannot be edited", async () => {
    const { answers, prompts, shown } = await dialog(payload({ path: "/srv/\u202Egpj.exe" }), ["edit", "reject"]);
    expect(answers).toEqual([["a0", { type: "reject" }]]);
    expect(prompts[0]).toBe("`approve`, `reject [reason]`, or nothing to stop here: ");
    expect(shown).toContain("\\u{202E}");
    expect(shown).not.toContain("\u202E");
  });
});

describe("the whole arguments come before the question (questions-1)", () => {
  test("a value too long for the description is shown whole as well", async () => {
    const content = `${"x".repeat(32_500)}THE-END-OF-IT`;
    const { shown } = await dialog(payload({ path: "a.md", content }), []);
    expect(shown).toContain("The whole arguments:");
    expect(shown).toContain(content);
  });

  test("200 lines with the important key last", async () => {
    const { shown } = await dialog(payload({ body: "line\n".repeat(200), to: "somebody@example.org" }), []);
    expect(shown.indexOf("somebody@example.org")).toBeGreaterThan(0);
    expect(shown.match(/\| line/g)).toHaveLength(200);
  });
});

describe("answers are stored one by one (questions-3)", () => {
  test("stopping at the second keeps the first", async () => {
    const { finished, answers } = await dialog(payload({ path: "a" }, { path: "b" }), ["approve", ""]);
    expect({ finished, answers }).toEqual({ finished: false, answers: [["a0", { type: "approve" }]] });
  });

  test("somebody else was first: the next question follows", async () => {
    const taken = (id: string) =>
      id === "a0" ? new ToolgateError("already_decided", "approval `a0` was already decided", "look") : undefined;
    const { finished, answers, shown } = await dialog(
      payload({ path: "a" }, { path: "b" }),
      ["approve", "reject"],
      taken,
    );
    expect({ finished, answers }).toEqual({ finished: true, answers: [["a1", { type: "reject" }]] });
    expect(shown).toContain("not taken: approval `a0` was already decided");
  });
});
