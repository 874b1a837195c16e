// Paging: reads a stored result page by page, in bytes of its readable text.
//
//   paging-1. A page never begins or ends inside a code point.
//   paging-2. Pages that are read one after another give the whole text, once.

import { toText } from "./blocks.js";
import { fromBody } from "./body.js";
import { floorBoundary } from "./clean-text.js";

export interface ResultPage {
  readonly text: string;
  /** Where the next page begins; absent at the end. */
  readonly next?: number;
  /** Bytes of the whole text. */
  readonly total: number;
}

/** At most `maxBytes` bytes (at least one character) of a body's readable text from byte `offset` on. */
export function resultPage(body: string, offset: number, maxBytes: number): ResultPage {
  const bytes = Buffer.from(toText(fromBody(body)), "utf8");
  const start = floorBoundary(bytes, Number.isFinite(offset) ? Math.trunc(offset) : 0);
  let end = floorBoundary(bytes, start + Math.max(1, Math.trunc(maxBytes)));
  while (end <= start && end < bytes.length) end = nextBoundary(bytes, end);
  const text = bytes.toString("utf8", start, end);
  return end < bytes.length ? { text, next: end, total: bytes.length } : { text, total: bytes.length };
}

function nextBoundary(bytes: Uint8Array, at: number): number {
  let end = at + 1;
  while (end < bytes.length && ((bytes[end] as number) & 0xc0) === 0x80) end += 1;
  return end;
}
