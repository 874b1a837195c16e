// Journal: what happened to one operation, in the file `.operations/<operation id>`. It has one JSON object a line, and
// lines are only added.
//
//   documents-journal-1. The first record that is `begun` or `fenced` decides, and nothing later changes it: whoever adds
//                        one reads the file again and goes by what stands first. So a save and a fence that cross each
//                        other agree.
//   documents-journal-2. A line counts when it is whole (its newline is there) and is a record; half a line of a process
//                        that was killed, or anything else, is passed over.
//
// A record is on disk before the process that wrote it goes on.

import { type Status, statuses } from "./contracts.js";
import type { Life } from "./life.js";

/** What is going to be done, by whom. */
export interface Begun extends Life {
  readonly filename: string;
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * `created`: the operation made a file under its name. `ended`: its own word. `settled`: what a read-back found of a save
 * that broke off; `gone`: that its file was made and did not stand there any more. `fenced`: the id was never used and is closed; milliseconds since 1970.
 */
export type JournalRecord =
  | { readonly begun: Begun }
  | { readonly created: true }
  | { readonly ended: { readonly status: Status } }
  | { readonly settled: { readonly carriedOut: boolean } }
  | { readonly gone: true }
  | { readonly fenced: { readonly at: number } };

/** What became of a save, for good: its own word, or a read-back's. Of a file that is gone nobody can say more. */
export type Outcome = "saved" | "refused" | "found" | "not_found" | "gone";

export type Journal =
  /** No record that decides: the file is new, or its writer came no further. */
  | { readonly kind: "blank" }
  /** `at` as in the record. */
  | { readonly kind: "fenced"; readonly at: number }
  | {
      readonly kind: "begun";
      readonly begun: Begun;
      readonly created: boolean;
      /** Its own word is there, whatever it says: nothing more is done. */
      readonly ended: boolean;
      /** The first that was said. */
      readonly outcome: Outcome | undefined;
    };

/** One record as a line. A newline stands before it too, so that half a line before it does not swallow it. */
export const lineOf = (record: JournalRecord): Buffer => Buffer.from(`\n${JSON.stringify(record)}\n`);

/** Reads a journal's text. (documents-journal-1, documents-journal-2) */
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
      return journal; // documents-journal-1
    case "blank":
      if ("fenced" in record) return { kind: "fenced", at: record.fenced.at };
      if ("begun" in record)
        return { kind: "begun", begun: record.begun, created: false, ended: false, outcome: undefined };
      return journal;
    case "begun":
      if ("created" in record) return { ...journal, created: true };
      if ("ended" in record)
        return { ...journal, ended: true, outcome: journal.outcome ?? outcomeOf(record.ended.status) };
      if ("settled" in record)
        return { ...journal, outcome: journal.outcome ?? (record.settled.carriedOut ? "found" : "not_found") };
      if ("gone" in record) return { ...journal, outcome: journal.outcome ?? "gone" };
      return journal; // documents-journal-1: also a fence that came second; the save goes on
  }
}

function outcomeOf(status: Status): Outcome | undefined {
  switch (status) {
    case "ok":
      return "saved";
    case "rejected":
      return "refused";
    case "failed":
    case "result_unknown":
      return undefined; // only what stands on disk can tell
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
  const { begun, created, ended, settled, gone, fenced } = (value ?? {}) as any;
  if (created === true) return { created };
  if (gone === true) return { gone };
  if (typeof fenced?.at === "number") return { fenced };
  if (typeof settled?.carriedOut === "boolean") return { settled };
  if (statuses.includes(ended?.status)) return { ended };
  const texts = [begun?.filename, begun?.sha256, begun?.started];
  const numbers = [begun?.bytes, begun?.pid];
  if (texts.every((text) => typeof text === "string") && numbers.every(Number.isSafeInteger)) return { begun };
  return undefined;
}
