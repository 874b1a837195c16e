// Writes docs/ledger.md, the states of an operation and every move between them, from the table that the ledger itself
// follows (TRANSITIONS in src/ledger/transitions.ts).
//
//   npx tsx docs/ledger.ts             writes the file
//   npx tsx docs/ledger.ts --check     fails where the file is not what would be written

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Ledger } from "../src/ledger/port.js";
import { type RowStatus, TRANSITIONS } from "../src/ledger/transitions.js";

const FILE = fileURLToPath(new URL("ledger.md", import.meta.url));

/** The methods of the ledger that move a row. */
const METHODS: readonly (keyof Ledger)[] = [
  "claim",
  "begin",
  "settle",
  "settleLate",
  "refuse",
  "answer",
  "sweep",
  "readBack",
  "resolve",
  "accept",
];

/** What each status says of the call. */
const MEANINGS: Readonly<Record<RowStatus, string>> = {
  proposed: "The model made the call. Nothing of it has run.",
  claimed: "One run has taken it, with a lease and a fence. Nothing was sent yet.",
  dispatching: "It is being sent, or may have been sent.",
  ok: "It happened, as far as a trustworthy answer, a read-back or a person says.",
  failed: "It failed or did not happen, as far as a trustworthy answer, a read-back or a person says.",
  rejected: "It was refused, by a rule, a person, a guard, a budget or the server.",
  unavailable:
    "It was not run, or it is a read without an answer. It may be claimed again; a write only if nothing was sent.",
  result_unknown: "It may or may not have happened. A write that stands here halts further writes.",
};

const statuses = Object.keys(MEANINGS) as RowStatus[];
const text = page();

if (!process.argv.includes("--check")) writeFileSync(FILE, text);
else if (readFileSync(FILE, "utf8") !== text) {
  console.error("docs/ledger.md is not what the table of moves says; write it with `npx tsx docs/ledger.ts`");
  process.exitCode = 1;
}

/** The methods that a row of the table names. The diagram has no room for more. */
function methodsOf(by: string): string {
  const named = METHODS.filter((method) => new RegExp(`\\b${method}\\b`, "u").test(by));
  if (named.length === 0) throw new Error(`no method of the ledger is named in: ${by}`);
  return named.join(", ");
}

function drawing(): string {
  const final = statuses.filter((status) => TRANSITIONS.every(({ from }) => from !== status));
  return [
    "stateDiagram-v2",
    "  [*] --> proposed",
    ...TRANSITIONS.map(({ from, to, by }) => `  ${from} --> ${to} : ${methodsOf(by)}`),
    ...final.map((status) => `  ${status} --> [*]`),
  ].join("\n");
}

function page(): string {
  return `# The states of an operation

\`npx tsx docs/ledger.ts\` writes this file; a test fails when it is out of date.

An operation is one call that the model made. The ledger keeps one row for it, in one of four states: \`proposed\`, \`claimed\`, \`dispatching\` and \`settled\`. A settled row has an outcome, and its five values stand here in the place of the state. A row makes no move that the table does not name; the ledger throws where a rule tries another one.

\`\`\`mermaid
${drawing()}
\`\`\`

| stands at | what that says |
| --- | --- |
${statuses.map((status) => `| \`${status}\` | ${MEANINGS[status]} |`).join("\n")}

The methods are those of the ledger port (\`src/ledger/port.ts\`). An owner is a run that claimed the operation; it is gone when its process has ended or its lease has passed.

| from | to | made by |
| --- | --- | --- |
${TRANSITIONS.map(({ from, to, by }) => `| \`${from}\` | \`${to}\` | ${by} |`).join("\n")}
`;
}
