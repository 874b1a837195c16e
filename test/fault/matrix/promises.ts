// What a host has promised to people by the time the power goes, and whether the next host still finds it. Pure, but for the
// line that a host writes.
//
//   promise-1. A question that a run returned is still open: in the ledger without an answer, and in the thread.
//   promise-2. An answer that the ledger took is still there.
//   promise-3. Every message that a run returned is still in the thread, in its place.
//   promise-4. A call that was settled is still settled, as it was; an unknown outcome may have been found out since.

import { appendFileSync, readFileSync } from "node:fs";
import { outcomeOf } from "../../../src/contracts/index.js";
import type { Told, Words } from "./plan.js";

export type Promised =
  /** A run returned. `asks` are the approval ids of the questions that it showed. */
  | { readonly what: "returned"; readonly asks: readonly string[]; readonly messages: readonly Told[] }
  /** The ledger has taken an answer. */
  | { readonly what: "answered"; readonly approvalId: string; readonly type: string }
  /** The ledger has taken an outcome. */
  | { readonly what: "settled"; readonly operationId: string; readonly status: string };

/** What a host finds when it starts. */
export interface Found {
  readonly words: Words;
  /** Approval ids that the thread itself asks for. */
  readonly asks: readonly string[];
}

/** Keeps a promise where the world finds it, whatever becomes of this process. */
export function promise(path: string, promised: Promised): void {
  appendFileSync(path, `${JSON.stringify(promised)}\n`);
}

export function promisesIn(path: string): Promised[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return [];
  }
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as Promised);
}

/** What is wrong with what was found, by what had been promised. */
export function broken(promises: readonly Promised[], found: Found): string[] {
  return promises.flatMap((promised, at) => brokenOne(promised, promises.slice(at + 1), found));
}

function brokenOne(promised: Promised, later: readonly Promised[], found: Found): string[] {
  const { asked, rows } = found.words;
  switch (promised.what) {
    case "returned":
      return [...closedQuestions(promised.asks, later, found), ...goneMessages(promised, found)];
    case "answered": {
      const verdict = asked.find(({ request }) => request.approvalId === promised.approvalId)?.verdict;
      return verdict?.type === promised.type ? [] : [`the answer to ${promised.approvalId} is gone`]; // promise-2
    }
    case "settled": {
      const status = outcomeOf(rows.find(({ operation }) => operation.id === promised.operationId))?.status;
      const foundOut = promised.status === "result_unknown" && status !== undefined;
      return status === promised.status || foundOut
        ? []
        : [`${promised.operationId} was ${promised.status} and is ${status}`]; // promise-4
    }
  }
}

/** promise-1, as long as nobody has begun to answer. */
function closedQuestions(asks: readonly string[], later: readonly Promised[], { words, asks: open }: Found): string[] {
  if (later.length > 0) return [];
  return asks.flatMap((approvalId) => {
    const asked = words.asked.find(({ request }) => request.approvalId === approvalId);
    if (asked === undefined || asked.verdict !== undefined) return [`the question ${approvalId} is not in the ledger`];
    return open.includes(approvalId) ? [] : [`the thread does not ask ${approvalId} any more`];
  });
}

/** promise-3 */
function goneMessages({ messages }: { readonly messages: readonly Told[] }, { words }: Found): string[] {
  const same = (one: Told, other: Told | undefined) => one.type === other?.type && one.text === other.text;
  const gone = messages.filter((message, at) => !same(message, words.messages[at]));
  return gone.map(({ type }) => `a message that was returned is gone: ${type}`);
}
