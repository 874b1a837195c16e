// The journal of one operation: `.operations/<operation id>`, lines of JSON that are only added to.
//
//   N1. The first record that is `begun` or `fenced` decides, and nothing later changes it: whoever adds one reads the
//       file again and goes by what stands first. So a save and a fence that cross each other agree.
//   N2. A line counts when it is whole (its newline is there) and is a record; half a line of a process that was killed,
//       or anything else, is passed over.
//   N3. A record is on disk before its writer goes on.

import { type Status, statuses } from "./contracts.js";
import type { Life } from "./life.js";

/** What is going to be done, by whom. */
export interface Begun extends Life {
  readonly filename: string;
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * `created`: the operation made a file under its name. `fenced`: the id was never used and is closed, `closed`: the save
 * that had it broke off without a file; both in milliseconds since 1970.
 */
export type JournalRecord =
  | { readonly begun: Begun }
  | { readonly created: true }
  | { readonly ended: { readonly status: Status } }
  | { readonly fenced: { readonly at: number } }
  | { readonly closed: { readonly at: number } };

export type Journal =
  /** No record that decides: the file is new, or its writer came no further. */
  | { readonly kind: "blank" }
  /** `at` as in the record. */
  | { readonly kind: "fenced"; readonly at: number }
  | {
      readonly kind: "begun";
      readonly begun: Begun;
      readonly created: boolean;
      /** How it ended by its own word, or `closed` by a read-back that found nothing of it. */
      readonly ended: Status | "closed" | undefined;
    };

/** One record as a line. A newline stands before it too, so that half a line before it does not swallow it. */
export const lineOf = (record: JournalRecord): Buffer => Buffer.from(`\n${JSON.stringify(record)}\n`);

/** Reads a journal's text. (N1, N2) */
export function parseJournal(text: string): Journal {
  let journal: Journal = { kind: "blank" };
  for (const line of text.slice(0, text.lastIndexOf("\n") + 1).split("\n")) {
    const record = recordOf(line);
    if (record !== undefined) journal = after(journal, record);
  }
  return journal;
}

function after(journal: Journal, record: JournalRecord): Journal {
  switch (journal.kind) {
    case "fenced":
      return journal; // N1
    case "blank":
      if ("fenced" in record) return { kind: "fenced", at: record.fenced.at };
      if ("begun" in record) return { kind: "begun", begun: record.begun, created: false, ended: undefined };
      return journal;
    case "begun":
      if ("created" in record) return { ...journal, created: true };
      if ("ended" in record) return { ...journal, ended: journal.ended ?? record.ended.status };
      if ("closed" in record) return { ...journal, ended: journal.ended ?? "closed" };
      return journal; // N1: also a fence that came second; the save goes on
  }
}

function recordOf(line: string): JournalRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  // biome-ignore lint/suspicious/noExplicitAny: looked at field by field right here
  const { begun, created, ended, fenced, closed } = (value ?? {}) as any;
  if (created === true) return { created };
  if (typeof fenced?.at === "number") return { fenced };
  if (typeof closed?.at === "number") return { closed };
  if (statuses.includes(ended?.status)) return { ended };
  const texts = [begun?.filename, begun?.sha256, begun?.started];
  const numbers = [begun?.bytes, begun?.pid];
  if (texts.every((text) => typeof text === "string") && numbers.every(Number.isSafeInteger)) return { begun };
  return undefined;
}
