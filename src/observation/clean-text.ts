// Text from a server on its way to a model: it is made well formed and visible, with one kind of line end.

import { boundaryBefore, escapeHidden } from "../contracts/index.js";

const LONE_SURROGATE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

/** Text that is clean already: printable ASCII, line feeds and tabs. */
const PLAIN = /^[\n\t\x20-\x7E]*$/;

/**
 * Replaces a lone surrogate by U+FFFD and CR LF by a line feed, and shows every other control or hidden code point as an
 * escape.
 */
export function cleanText(text: string): string {
  if (PLAIN.test(text)) return text;
  return escapeHidden(text.replace(LONE_SURROGATE, "\uFFFD").replace(/\r\n/g, "\n"));
}

/** Bytes of text in UTF-8. */
export function byteLength(text: string): number {
  return Buffer.byteLength(text, "utf8");
}

/** The first `maxBytes` bytes of text. What is seen as one character and would be cut is left out. */
export function head(text: string, maxBytes: number): string {
  if (byteLength(text) <= maxBytes) return text;
  const bytes = Buffer.from(text, "utf8");
  const part = bytes.toString("utf8", 0, floorBoundary(bytes, maxBytes));
  return text.slice(0, boundaryBefore(text, part.length));
}

/** The last code point boundary at or before an offset. */
export function floorBoundary(bytes: Uint8Array, offset: number): number {
  let at = Math.min(Math.max(0, offset), bytes.length);
  while (at > 0 && at < bytes.length && ((bytes[at] as number) & 0xc0) === 0x80) at -= 1;
  return at;
}
