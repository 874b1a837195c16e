// A note that a person gives with what they say.

import { UsageError } from "./error-report.js";

/** Longest note that is kept, in characters. */
const NOTE_CHARS = 2_000;

/** Throws `UsageError` for a note that is too long. */
export function checkNote(note: string | undefined): void {
  if (note === undefined || note.length <= NOTE_CHARS) return;
  throw new UsageError(`--note has ${note.length} characters, and ${NOTE_CHARS} are the most`, "shorten it");
}
