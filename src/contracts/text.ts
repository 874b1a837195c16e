// Text from servers and models, made fit for a person's eyes: what is invisible is shown, what steers a terminal is not sent.

/**
 * Code points a reader cannot see or that reorder what is read: controls (line feed and tab aside), format characters,
 * line and paragraph separators, fillers, variation selectors other than the emoji one, lone surrogates, private use.
 */
const HIDDEN =
  /(?!\n|\t)(?:[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\u{115F}\u{1160}\u{3164}\u{FFA0}]|\u{034F}|\u{17B4}|\u{17B5}|[\u{180B}-\u{180F}]|[\u{FE00}-\u{FE0E}]|[\u{E0000}-\u{E0FFF}])/gu;

/** Whether text holds code points a reader cannot see. */
export function hasHidden(text: string): boolean {
  HIDDEN.lastIndex = 0;
  return HIDDEN.test(text);
}

/** Shows every hidden code point as `\u{XXXX}`. Line feeds and tabs stay. Idempotent. */
export function escapeHidden(text: string): string {
  return replaceHidden(text, (found) => `\\u{${(found.codePointAt(0) as number).toString(16).toUpperCase()}}`);
}

/** Replaces every hidden code point by what `write` makes of it. Line feeds and tabs stay. */
export function replaceHidden(text: string, write: (codePoint: string) => string): string {
  return text.replace(HIDDEN, (found) => write(found));
}

/** One line of bounded, visible text: for log records, problems and error messages. */
export function oneLine(text: string, maxChars = 300): string {
  const line = escapeHidden(text.replace(/\s+/gu, " ").trim());
  return line.length <= maxChars ? line : `${line.slice(0, maxChars - 1).replace(/[\uD800-\uDBFF]$/u, "")}…`;
}
