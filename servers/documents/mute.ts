// Mute: takes grants out of what is logged.
//
//   documents-mute-1. The log holds no grant: not the field's value, and nothing that looks like one, wherever a client
//                     put it.
//
// Arguments that are too long or too deep to be searched for a grant are left out of the log line; the event itself is
// logged.

import type { ServerEvent, ServerLog } from "../log.js";

/**
 * What may be a grant: three parts of base64url with points between. It begins where a word does, so that a long word is
 * looked through once.
 */
const GRANT = /(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g;
const WITHHELD = "(withheld)";
/** Longest JSON text of one field that is logged; what is valid is far below it. */
const LOGGED_CHARS = 100_000;

export function mute(log: ServerLog): ServerLog {
  return (event) => {
    const fields = Object.entries(event).map(([field, value]) => [field, muted(value)]);
    log(Object.fromEntries(fields) as unknown as ServerEvent);
  };
}

function muted(value: unknown): unknown {
  if (value === undefined) return value;
  try {
    const text = JSON.stringify(value, (key, part: unknown) => (key === "approval_token" ? WITHHELD : shown(part)));
    return text.length > LOGGED_CHARS ? "(too long)" : JSON.parse(text);
  } catch {
    return "(too deep)"; // the stack has an end
  }
}

/** A value without what may be a grant: text, and the names of an object's fields. */
function shown(part: unknown): unknown {
  if (typeof part === "string") return part.replace(GRANT, WITHHELD);
  if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
  return Object.fromEntries(Object.entries(part).map(([key, item]) => [key.replace(GRANT, WITHHELD), item]));
}
