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
    find: "(status === 404 && sessionGone)",
    replace: "(status === 404 && (sessionGone || !sessionGone))",
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
];
