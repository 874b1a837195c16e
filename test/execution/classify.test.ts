import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { CallEvidence } from "../../src/contracts/mcp-port.js";
import { classify, type Findings, type Terms } from "../../src/execution/classify.js";

const read: Terms = { effect: "read", errors: "conservative", contract: undefined, outputMismatch: "unknown" };
const write: Terms = { ...read, effect: "write" };
const honest: Terms = { ...write, errors: "honest" };
const byStatus: Terms = { ...write, contract: "status" };

const sent = { attempted: true, refused: false } as const;
const answered = (result: unknown): CallEvidence => ({ ...sent, how: "response", response: { result } });
const ok = answered({ content: [{ type: "text", text: "done" }] });
const isError = answered({ content: [{ type: "text", text: "no such row" }], isError: true });
const rpcError: CallEvidence = {
  ...sent,
  how: "response",
  response: { error: { code: -32001, message: "timed out" } },
};
const http = (httpStatus: number, more: Partial<CallEvidence> = {}): CallEvidence => ({
  ...sent,
  how: "error",
  httpStatus,
  ...more,
});

const seen = (evidence: CallEvidence, terms: Terms, findings: Findings = {}) => {
  const { status, reason } = classify(evidence, terms, findings);
  return `${status} ${reason}`;
};

describe("classify: what an answer means depends on where it came from (classify-2)", () => {
  const table: [what: string, evidence: CallEvidence, onRead: string, onWrite: string, findings?: Findings][] = [
    ["a success", ok, "ok success", "ok success"],
    [
      "nothing was sent",
      { attempted: false, refused: false, how: "error" },
      "unavailable not_sent",
      "unavailable not_sent",
    ],
    [
      "connection refused",
      { attempted: true, refused: true, how: "error" },
      "unavailable not_sent",
      "unavailable not_sent",
    ],
    ["401 for the token", http(401, { tokenRefused: true }), "unavailable turned_away", "unavailable turned_away"],
    ["307", http(307), "unavailable turned_away", "unavailable turned_away"],
    ["308", http(308), "unavailable turned_away", "unavailable turned_away"],
    ["404 for the session", http(404, { sessionGone: true }), "unavailable turned_away", "unavailable turned_away"],
    // A server did what it was asked and answered with 303; the host said that it was not run, and it was run again.
    ...[300, 301, 302, 303, 304, 401].map((status): (typeof table)[number] => [
      `${status} alone`,
      http(status),
      "unavailable server_error",
      "result_unknown server_error",
    ]),
    ["a redirect that is none", http(399), "failed server_error", "result_unknown server_error"],
    [
      "a status that has another one's word beside it",
      http(403, { tokenRefused: true, sessionGone: true }),
      "failed server_error",
      "result_unknown server_error",
    ],
    // A server wrote `"isError": "true"`, and the failure was taken for a success.
    ...["true", "false", 1, 0, null, {}].map((isError): (typeof table)[number] => [
      `isError that is ${JSON.stringify(isError)}`,
      answered({ content: [], isError }),
      "unavailable malformed",
      "result_unknown malformed",
    ]),
    ["404 without a session", http(404), "failed server_error", "result_unknown server_error"],
    ["500", http(500), "failed server_error", "result_unknown server_error"],
    // An adapter turned every error into one text, and its origin could only be guessed from its words.
    [
      "a JSON-RPC error that looks like a local timeout",
      rpcError,
      "failed server_error",
      "result_unknown server_error",
    ],
    ["isError", isError, "failed tool_error", "result_unknown tool_error"],
    // A limit of more than 60 s was ignored on the way to the tool.
    ["the deadline", { ...sent, how: "deadline" }, "unavailable deadline", "result_unknown deadline"],
    // A client waited for ever for a server that had died inside a call.
    ["a lost connection", { ...sent, how: "closed" }, "unavailable connection_lost", "result_unknown connection_lost"],
    // Servers often go on after they were told to cancel.
    ["a cancelled run", { ...sent, how: "aborted" }, "unavailable connection_lost", "result_unknown connection_lost"],
    [
      "a result above the bound",
      { ...sent, how: "response", tooLarge: true },
      "unavailable too_large",
      "result_unknown too_large",
    ],
    [
      "input_required",
      answered({ resultType: "input_required", inputRequests: {} }),
      "unavailable unfinishable",
      "result_unknown unfinishable",
    ],
    ["an answer that is no tool result", answered("yes"), "unavailable malformed", "result_unknown malformed"],
    [
      "a broken output schema",
      ok,
      "unavailable output_schema",
      "result_unknown output_schema",
      { outputSchema: "it lacks x" },
    ],
    [
      "a result this host does not take",
      ok,
      "unavailable too_large",
      "result_unknown too_large",
      { limit: "2,001 characters" },
    ],
  ];
  for (const [what, evidence, onRead, onWrite, findings] of table) {
    test(`${what}: ${onRead} for a read, ${onWrite} for a write`, () => {
      expect(seen(evidence, read, findings)).toBe(onRead);
      expect(seen(evidence, write, findings)).toBe(onWrite);
    });
  }

  test("a host that vouches for the server's errors has them taken at their word", () => {
    expect(seen(isError, honest)).toBe("failed tool_error");
    expect(seen(rpcError, honest)).toBe("rejected server");
    expect(seen(http(500), honest)).toBe("result_unknown server_error"); // it may be a gateway's word
    expect(seen({ ...rpcError, httpStatus: 502 }, honest)).toBe("result_unknown server_error"); // as may this
    expect(seen(answered({ content: [], isError: "true" }), honest)).toBe("result_unknown malformed");
    expect(seen(answered({ structuredContent: { status: "ok" }, isError: "no" }), byStatus)).toBe(
      "result_unknown malformed",
    );
    expect(seen({ ...sent, how: "deadline" }, honest)).toBe("result_unknown deadline");
  });

  test("under the result contract the tool's own status counts, and a missing one is doubt (classify-3)", () => {
    const says = (status: unknown) =>
      answered({ content: [], structuredContent: { status, message: "m", data: null } });
    expect(seen(says("ok"), byStatus)).toBe("ok contract");
    expect(seen(says("failed"), byStatus)).toBe("failed contract");
    expect(seen(says("rejected"), byStatus)).toBe("rejected server");
    expect(seen(says("result_unknown"), byStatus)).toBe("result_unknown contract");
    expect(seen(says("great"), byStatus)).toBe("result_unknown contract");
    expect(seen(ok, byStatus)).toBe("result_unknown contract");
  });

  test("a flagged mismatch is taken for a write and says so", () => {
    const outcome = classify(ok, { ...write, outputMismatch: "flag" }, { outputSchema: "it lacks x" });
    expect([outcome.status, outcome.message]).toEqual(["ok", "done (flagged: it lacks x)"]);
  });

  test("no write without a response from the server is ever failed or ok, whatever the evidence (classify-1) (G7)", () => {
    const evidence = fc.record(
      {
        attempted: fc.boolean(),
        refused: fc.boolean(),
        how: fc.constantFrom("closed", "error", "deadline", "aborted"),
        httpStatus: fc.option(fc.integer({ min: 100, max: 599 }), { nil: undefined }),
        sessionGone: fc.boolean(),
        tokenRefused: fc.boolean(),
        tooLarge: fc.boolean(),
        detail: fc.option(fc.string(), { nil: undefined }),
      },
      { requiredKeys: ["attempted", "refused", "how"] },
    );
    fc.assert(
      fc.property(evidence, (one) => {
        const { status } = classify(one as CallEvidence, write, {});
        expect(["unavailable", "result_unknown"]).toContain(status);
        const reachedNobody = !one.attempted || one.refused;
        const turnedAway =
          (one.httpStatus === 401 && one.tokenRefused === true) ||
          (one.httpStatus === 404 && one.sessionGone === true) ||
          one.httpStatus === 307 ||
          one.httpStatus === 308;
        if (status === "unavailable") expect(reachedNobody || turnedAway).toBe(true);
      }),
    );
  });

  test("it is total: any result at all has an outcome", () => {
    fc.assert(
      fc.property(fc.anything(), fc.constantFrom(read, write, honest, byStatus), (result, terms) => {
        expect(["ok", "rejected", "failed", "unavailable", "result_unknown"]).toContain(
          classify(answered(result), terms, {}).status,
        );
      }),
    );
  });
});
