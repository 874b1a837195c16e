// One rule of the sources broken at a time, each by an exact change of a text, and the test files that must notice it.

export interface Mutant {
  /** What the broken host does, as a sentence. */
  readonly name: string;
  readonly file: string;
  /** Stands exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  /** At least one test of these files must fail. */
  readonly tests: readonly string[];
  /** The command that runs these files: `npm test`, or `npm run test:all` alone. */
  readonly tier: "test" | "test:all";
}

const CLASSIFY = {
  file: "src/execution/classify.ts",
  tests: ["test/execution/classify.test.ts"],
  tier: "test",
} as const;
const JUDGE = { file: "src/policy/judge.ts", tests: ["test/policy/judge.test.ts"], tier: "test" } as const;
const LEDGER = { tests: ["test/conformance/ledger.test.ts"], tier: "test" } as const;
const CLAIM = { ...LEDGER, file: "src/ledger/claim.ts" } as const;
const ADMISSION = {
  file: "src/ledger/admission.ts",
  tests: ["test/execution/claim.test.ts", "test/conformance/ledger.test.ts"],
  tier: "test",
} as const;
const SETTLE = { ...LEDGER, file: "src/ledger/settle.ts" } as const;

export const MUTANTS: readonly Mutant[] = [
  {
    ...CLASSIFY,
    name: "a write whose answer was lost counts as one that did not run",
    find: 'settle(write ? "result_unknown" : "unavailable", reason, "host", message)',
    replace: 'settle(write ? "unavailable" : "unavailable", reason, "host", message)',
  },
  {
    ...CLASSIFY,
    name: "a write whose tool reports an error counts as failed, although the host did not say that its errors are honest",
    find: 'if (terms.effect === "read" || terms.errors === "honest") return settle("failed", "tool_error"',
    replace: 'if (terms.effect === "read" || terms.errors !== undefined) return settle("failed", "tool_error"',
  },
  {
    ...CLASSIFY,
    name: "an answer of HTTP 404 counts as turned away, although there is no session that could be gone",
    find: "(status === 404 && sessionGone === true)",
    replace: "(status === 404 && sessionGone !== null)",
  },
  {
    ...JUDGE,
    name: "a call that the model did not propose is allowed by a rule",
    find: "if (!call.proposed)",
    replace: 'if (!call.proposed && decision.kind !== "allow")',
  },
  {
    ...JUDGE,
    name: "a yes covers earlier writes that its question did not show",
    find: "earlier.every((write) => shown.has(write.operationId))",
    replace: "earlier.every(() => shown !== undefined)",
  },
  {
    ...JUDGE,
    name: "a question that nobody answered in time does not refuse its call",
    find: "if (call.question?.expired && !call.question.approved) {",
    replace: "if (call.question?.expired && call.question.approved) {",
  },
  {
    name: "the seal of a verdict does not cover when it expires",
    file: "src/approval/seal.ts",
    find: "canonicalize(fields)",
    replace: "canonicalize({ ...fields, expiresAt: 0 })",
    tests: ["test/approval/seal.test.ts"],
    tier: "test",
  },
  {
    name: "two long names that differ only in a character that is mapped get the same alias",
    file: "src/contracts/alias.ts",
    find: "sha256(full)",
    replace: "sha256(mapped)",
    tests: ["test/mutants/alias.test.ts", "test/catalog/assemble.test.ts"],
    tier: "test",
  },
  {
    ...CLAIM,
    name: "a batch is claimed in a thread that another living run holds",
    find: 'if (other) return { kind: "claims"',
    replace: 'if (other && batch.operations.length === 0) return { kind: "claims"',
  },
  {
    ...CLAIM,
    name: "a batch of which one call must be asked about is claimed as far as it can be",
    find: "if (asking.length > 0) return",
    replace: "if (asking.length === ruled.length && asking.length > 0) return",
  },
  {
    ...CLAIM,
    name: "an operation that a batch names twice is claimed twice",
    find: "if (before.some((one) => one.request.operation.id === operation.id)) {",
    replace: "if (before.some((one) => one.request === request)) {",
  },
  {
    ...CLAIM,
    name: "a yes is not used up by the claim that it permits",
    find: "if (ruling.consume !== undefined) tables.consume",
    replace: 'if (ruling.consume === "") tables.consume',
  },
  {
    ...CLAIM,
    name: "an unknown write halts the writes of another scope to its server",
    find: 'haltScope === "server" && row.scope === of.scope &&',
    replace: 'haltScope === "server" &&',
  },
  {
    ...CLAIM,
    name: "a write is claimed while another write of its thread is being sent by a living owner",
    find: "else if (row.threadId === batch.threadId) inFlight.push(row)",
    replace: "else if (row.threadId !== batch.threadId) inFlight.push(row)",
  },
  {
    ...CLAIM,
    name: "an identical write earlier in the same batch counts as no repeat",
    find: "new Set([...stored, ...claimedNow])",
    replace: "new Set([...stored, ...claimedNow.slice(claimedNow.length)])",
  },
  {
    ...CLAIM,
    name: "a write that is claimed again keeps the number of its first claim",
    find: 'operation.effect === "write" ? tables.nextSeq(batch.threadId) : undefined',
    replace: 'operation.effect === "write" ? (row?.seq ?? tables.nextSeq(batch.threadId)) : undefined',
  },
  {
    ...CLAIM,
    name: "a send is begun under the fence of an older claim",
    find: 'row.fence !== fence || row.state !== "claimed"',
    replace: 'row.fence < fence || row.state !== "claimed"',
  },
  {
    ...CLAIM,
    name: "a send is begun twice under one claim",
    find: 'row.fence !== fence || row.state !== "claimed"',
    replace: 'row.fence !== fence || (row.state !== "claimed" && row.state !== "dispatching")',
  },
  {
    ...CLAIM,
    name: "a write is sent although another one has become unknown since its claim",
    find: "find((other) => halts(other, row, haltScope))",
    replace: "find((other) => other === row && halts(other, row, haltScope))",
  },
  {
    ...CLAIM,
    name: "calls of built-in tools are counted in the turn's budget",
    find: "if (!isBuiltIn(row.operation)) {",
    replace: "if (!isBuiltIn(row.operation) || row.fence > 0) {",
  },
  {
    ...ADMISSION,
    name: "a yes to one definition of a tool permits a call of another definition",
    find: "sealed.toolDigest === toolDigest &&",
    replace: "(sealed.toolDigest === toolDigest || toolDigest !== null) &&",
  },
  {
    ...ADMISSION,
    name: "a yes to a call of one server permits it when the server's name points to another one",
    find: "sameDestination(verdict.destination, destination) &&",
    replace: "(sameDestination(verdict.destination, destination) || destination !== undefined) &&",
  },
  {
    ...ADMISSION,
    name: "a yes permits a claim after its lifetime",
    find: "if (facts.verdictExpired) {",
    replace: "if (facts.verdictExpired && facts.questionExpired) {",
  },
  {
    ...ADMISSION,
    name: "a yes that was shown one earlier write covers all of them",
    find: "earlier.some((id) => !seen.includes(id))",
    replace: "earlier.length > 0 && earlier.every((id) => !seen.includes(id))",
  },
  {
    ...ADMISSION,
    name: "a write that a process left half sent is claimed again",
    find: 'return write ? { kind: "lost", row } : admit(facts);',
    replace: 'return write && facts.ownerGone === undefined ? { kind: "lost", row } : admit(facts);',
  },
  {
    ...ADMISSION,
    name: "a write that was left half sent is claimed again once the host calls its tool a read",
    find: 'row.operation.effect === "write" || facts.request.operation.effect === "write"',
    replace: 'facts.request.operation.effect === "write"',
  },
  {
    ...SETTLE,
    name: "a settlement is taken under the fence of an older claim",
    find: "if (row === undefined || row.fence !== settlement.fence) return false;",
    replace: "if (row === undefined || row.fence < settlement.fence) return false;",
  },
  {
    ...SETTLE,
    name: "a settled operation is settled again with another outcome",
    find: 'if (row.state === "settled") return isSame(row, settlement);',
    replace: 'if (row.state === "settled" && isSame(row, settlement)) return true;',
  },
  {
    ...SETTLE,
    name: "an answer that came too late replaces an outcome that was known",
    find: "row.fence !== settlement.fence || !isUnknown(row)",
    replace: "row.fence !== settlement.fence",
  },
  {
    ...SETTLE,
    name: "a person's word that it did not happen is taken while its sender may still get the answer",
    find: 'if (type === "did_not_happen" && mayAct(row, tx))',
    replace: 'if (type === "did_not_happen" && row.owner === undefined && mayAct(row, tx))',
  },
  {
    ...LEDGER,
    file: "src/ledger/transitions.ts",
    name: "a lease of the same machine is counted on a clock that can be set",
    find: "leaseSteady === undefined ? leaseUntil <= watch.now : leaseSteady <= watch.steady",
    replace: "leaseUntil <= watch.now",
  },
  {
    ...LEDGER,
    file: "src/ledger/transitions.ts",
    name: "a stopped process that was taken over is taken for one that cannot send any more",
    find: "return row.actsUntil !== undefined && watch.steady < row.actsUntil;",
    replace: "return !ownerGone(row, watch);",
  },
  {
    ...LEDGER,
    file: "src/ledger/transitions.ts",
    name: "an owner that was only cut off may still settle what was taken from it",
    find: "return settled(fenced(row), outcome, now);",
    replace: "return settled(row, outcome, now);",
  },
];
