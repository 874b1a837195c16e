// Spelling: the normal forms of texts and paths, so that two ways to write the same thing are compared as one.
//
// There are two of them. What denies or asks compares the loose form, in which everything is equal that some program might
// take for the same: capitals, composed and decomposed letters, wide letters, percent-encoding, blanks, `file:` addresses,
// `//`, `.` and a slash at the end. What allows takes a value only if it stands in its strict form already.
//
// A value that may lead somewhere else than it says has neither form: `..` (a folder may be a link), a backslash, `~`, a
// drive, a share, the links below `/proc`, characters that nobody sees, an encoding that does not end.
//
// It is pure and never throws.
//
//   spelling-1. The time to fold a text grows with its length alone: an encoding that is nested deeper than 8 times has no
//               normal form, nor has a letter with more than 30 marks (Unicode's stream-safe bound, UAX 15).

import { hasHidden } from "../contracts/index.js";

/** Code points that are not drawn: emoji selectors and joiners among them. File systems differ in whether they count. */
const IGNORED = /\p{Default_Ignorable_Code_Point}/gu;
/** Other characters that are drawn as a slash. `NFKD` makes the wide one a slash itself. */
const SLASHES = /[\u2044\u2215\u29f8]/gu;
const PERCENT = /(?:%[0-9a-f]{2})+/giu;
const PASSES = 8;
/** To put so many marks in order takes time by the square of their number. */
const MARKED = /\p{M}{31}/u;
/** A scheme with a path behind it: not the name of a file. */
const ADDRESS = /^[a-z][a-z0-9+.-]*:[^/]*\//iu;
const DRIVE = /^[a-z]:/iu;
/** Links that lead to wherever a process has its root, its folder or its open files. */
const MAGIC = /^\/(?:proc\/(?:.*\/)?(?:cwd|root|fd|exe)(?:\/|$)|dev\/(?:fd|stdin|stdout|stderr)(?:\/|$))/iu;
/** What a shell or a server may put something else for. */
const EXPANDED = /\$(?:\w+|\{[^{}$]*\}|\([^($)]*\))|%\w+%|\{[^{}]*\}/gu;

/** A text in which letters are equal that differ in case, width or composition alone. Idempotent. */
export function fold(text: string): string {
  const even = text.normalize("NFKD").toUpperCase().toLowerCase().normalize("NFKD");
  return even.replace(IGNORED, "").replaceAll("ς", "σ");
}

/** The loose form of a text as a path, without its capitals; undefined when it has none. */
export function looseForm(written: string, isPath: boolean): string | undefined {
  const plain = decoded(written);
  if (plain === undefined) return undefined;
  const text = withoutFile(plain.replace(SLASHES, "/").trim());
  if (text === undefined || /^~|^\/\/|[\\`]/u.test(text)) return undefined;
  if (isPath && (ADDRESS.test(text) || DRIVE.test(text))) return undefined;
  const segments: string[] = [];
  for (const one of text.split("/")) {
    const segment = one.trim();
    if (segment === ".." || isDotsAndBlanks(segment)) return undefined;
    if (segment !== "" && segment !== ".") segments.push(withoutEnd(segment));
  }
  const path = `${text.startsWith("/") ? "/" : ""}${segments.join("/")}`;
  return MAGIC.test(path) || (path === "" && written !== "") ? undefined : path;
}

/** The loose form as a glob, where a value holds what a server may expand: `*`, `?`, `[…]`, `{…}`, `$NAME`. */
export function expandable(form: string): string | undefined {
  const glob = form.replace(EXPANDED, "**").replace(/\[[^[\]/]*\]|\?/gu, "*");
  return glob.includes("*") ? glob : undefined;
}

/** Whether a value stands in its strict form: it says the same to every program, and nothing of it is hidden. */
export function isStrict(value: string, isPath: boolean): boolean {
  if (MARKED.test(value) || looseForm(value, isPath) === undefined) return false;
  const wide = value.normalize("NFKC");
  if (value !== value.normalize("NFC") || hasUnseen(value) || value.search(IGNORED) >= 0) return false;
  if (/^~|\/\/|\\|^file:/iu.test(wide) || ADDRESS.test(wide) || DRIVE.test(wide) || MAGIC.test(value)) return false;
  if (value.search(SLASHES) >= 0 || wide.split("/").length !== value.split("/").length) return false;
  if (/%[0-9a-f]{2}/iu.test(wide) || (isPath && /[*?{}`%$]/u.test(wide))) return false;
  return !wide.split("/").some((one) => /^\.{1,2}$|^\s|\s$/u.test(one) || isDotsAndBlanks(one));
}

/** Whether a text holds controls or characters that a reader cannot see. */
export function hasUnseen(text: string): boolean {
  return /\p{Cc}/u.test(text) || hasHidden(text);
}

/** The text without percent-encoding and folded, again and again until nothing changes; undefined when that does not end. (spelling-1) */
function decoded(written: string): string | undefined {
  let text = written;
  for (let pass = 0; pass < PASSES; pass++) {
    if (hasUnseen(text) || MARKED.test(text)) return undefined;
    const even = fold(text);
    const next = withoutPercent(even);
    if (next === undefined || next === text) return next;
    text = next;
  }
  return undefined;
}

function withoutPercent(text: string): string | undefined {
  try {
    return text.replace(PERCENT, (run) => decodeURIComponent(run));
  } catch {
    return undefined; // bytes that are no UTF-8: servers read them differently
  }
}

function isDotsAndBlanks(segment: string): boolean {
  return /^[.\s]+$/u.test(segment) && /\s/u.test(segment);
}

/** Without the dots and blanks at its end, which some systems leave out, unless there is nothing else. */
function withoutEnd(segment: string): string {
  let end = segment.length;
  while (end > 0 && /[.\s]/u.test(segment[end - 1] as string)) end -= 1;
  return end === 0 ? segment : segment.slice(0, end);
}

/** A `file:` address of this machine as the path it means; undefined when it is of another machine or of no place. */
function withoutFile(text: string): string | undefined {
  if (!text.startsWith("file:")) return text;
  return /^file:(?:\/\/(?:localhost)?)?(\/(?!\/).*)$/su.exec(text)?.[1];
}
