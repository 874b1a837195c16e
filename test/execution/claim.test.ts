// Claim: one ruling on everything the store knows. The ledgers' own suite runs it inside transactions; here each fact
// is changed alone, also those that a store would have caught before.

import { describe, expect, test } from "vitest";
import { sha256, type Verdict } from "../../src/contracts/index.js";
import { type ClaimFacts, type Ruling, rule } from "../../src/ledger/admission.js";
import type { Asked } from "../../src/ledger/port.js";
import { operation, START, TOOL } from "../conformance/ledger-world.js";

const save = operation({ decision: "ask" });
const other = sha256("other");

const request = {
  approvalId: "a1",
  operationId: save.id,
  threadId: "t1",
  scope: "local",
  argumentsDigest: save.argumentsDigest,
  toolDigest: TOOL,
  why: "a rule asks",
  seen: [] as string[],
  createdAt: START,
  expiresAt: START + 1_000,
};
const verdict: Verdict = {
  approvalId: "a1",
  operationId: save.id,
  threadId: "t1",
  scope: "local",
  argumentsDigest: save.argumentsDigest,
  toolDigest: TOOL,
  type: "approve",
  approver: "someone",
  at: START,
  expiresAt: START + 1_000,
  mac: "mac",
};
const asked: Asked = { request, verdict, consumed: false, expired: false };
const facts: ClaimFacts = {
  request: { operation: save, toolDigest: TOOL, repeat: "ask", verdict: { approvalId: "a1", mac: "mac" } },
  threadId: "t1",
  scope: "local",
  foreign: false,
  row: undefined,
  ownerGone: true,
  asked,
  questionExpired: false,
  verdictExpired: false,
  unknown: undefined,
  inFlight: undefined,
  repeats: [],
  ahead: [],
};
const said = (ruling: Ruling) =>
  ruling.kind === "settle" ? `${ruling.outcome.status} (${ruling.outcome.reason})` : ruling.kind;

describe("an approval permits exactly what it was given for (G4) (admission-2)", () => {
  test("the operation that was asked about is claimed, and uses it up", () => {
    expect(rule(facts)).toEqual({ kind: "claim", consume: "a1" });
  });

  test.each(["operationId", "argumentsDigest", "toolDigest", "threadId", "scope"] as const)(
    "another `%s`, in the question or in the answer, is not covered",
    (field) => {
      expect(said(rule({ ...facts, asked: { ...asked, request: { ...request, [field]: other } } }))).toBe("ask");
      expect(said(rule({ ...facts, asked: { ...asked, verdict: { ...verdict, [field]: other } } }))).toBe("ask");
    },
  );

  test("where the call goes is the same in the question, the answer and the claim, or it asks", () => {
    const goes = (of: string | undefined, said: string | undefined, now: string | undefined) =>
      rule({
        ...facts,
        request: { ...facts.request, ...(now && { destination: now }) },
        asked: {
          ...asked,
          request: { ...request, ...(of && { destination: { text: "runs", digest: of, moved: 0 } }) },
          verdict: { ...verdict, ...(said && { destination: said }) },
        },
      });
    expect(goes(other, other, other)).toEqual({ kind: "claim", consume: "a1" });
    const elsewhere = sha256("elsewhere");
    for (const [of, said, now] of [
      [other, other, elsewhere],
      [other, other, undefined],
      [other, elsewhere, other],
      [other, undefined, other],
      [elsewhere, other, other],
      [undefined, other, other],
      [undefined, undefined, other],
    ] as const) {
      expect([of, said, now, goes(of, said, now).kind]).toEqual([of, said, now, "ask"]);
    }
  });

  test.each<[string, Partial<ClaimFacts>]>([
    ["no answer", { asked: { request, consumed: false, expired: false } }],
    ["no question", { asked: undefined }],
    ["an answer nobody names", { request: { operation: save, toolDigest: TOOL, repeat: "ask" } }],
    ["another approval's id", { request: { ...facts.request, verdict: { approvalId: "a2", mac: "mac" } } }],
    ["another seal", { request: { ...facts.request, verdict: { approvalId: "a1", mac: "forged" } } }],
    ["a no", { asked: { ...asked, verdict: { ...verdict, type: "reject" } } }],
    ["an edit", { asked: { ...asked, verdict: { ...verdict, type: "edit" } } }],
    ["a tool whose definition has changed", { request: { ...facts.request, toolDigest: other } }],
    ["another thread", { threadId: "t2" }],
    ["another scope", { scope: "elsewhere" }],
    ["an earlier write the person was not shown", { ahead: [other] }],
    ["a repeat the person was not shown", { repeats: [other] }],
  ])("%s asks", (_, change) => {
    expect(said(rule({ ...facts, ...change }))).toBe("ask");
  });

  test.each<[string, Partial<ClaimFacts>, string]>([
    ["too late to be used", { verdictExpired: true }, "rejected (expired)"],
    ["its question expired", { questionExpired: true }, "rejected (expired)"],
    [
      "policy has come to deny it",
      { request: { ...facts.request, operation: operation({ decision: "deny" }) } },
      "rejected (denied)",
    ],
    ["it belongs to another thread", { foreign: true }, "foreign"],
    ["another write may be in flight", { inFlight: { machine: "m", pid: 1, started: "s", instance: "b" } }, "busy"],
  ])("a yes does not help when %s (admission-1)", (_, change, end) => {
    expect(said(rule({ ...facts, ...change }))).toBe(end);
  });
});
