// Visible: which code points of a text a reader is known to see. Everything else is hidden, whatever it is.
//
// It is pure. The classes are those of the Unicode version that Node was built with (`process.versions.unicode`). What is
// newer is unassigned there, and counts as hidden until Node is newer, too.
//
//   visible-1. Letters, numbers, punctuation, symbols, the plain space, line feed and tab are shown. Excepted are those that
//              have no ink: fillers, and blanks such as the braille one.
//   visible-2. A combining mark is shown after a letter of its script: at most 4 nonspacing marks and 8 in all, and no mark
//              twice in a row (UTS 39, section 5.4).
//   visible-3. A joiner is shown where it changes what is seen: in Arabic, Syriac and N'Ko between letters that would join,
//              in the scripts of India beside a virama (UAX 31, section 2.3.1), and in an emoji sequence that Unicode
//              recommends (RGI).
//   visible-4. An emoji's variation selector is shown directly after the emoji. Every other code point is hidden: other spaces,
//              controls, format characters, tags, private use, lone surrogates and what is not assigned.

import { DUAL_JOINING, MARKED_SCRIPTS, RIGHT_JOINING, STACKERS, TRANSPARENT, VIRAMA } from "./scripts.js";

/** Has no ink although it counts as a letter or a symbol (visible-1). What Unicode calls ignorable needs no entry. */
const BLANK = "\\u{2800}\\u{FFFC}\\u{13441}\\u{13442}\\u{1D159}";

/** Code points that are not shown for themselves. What stands before and after them decides about them. (visible-1) */
const SUSPECT = new RegExp(`[^\\p{L}\\p{N}\\p{P}\\p{S} \\n\\t]|[\\p{DI}${BLANK}]`, "gu");

const PRINTABLE_ASCII = /^[\n\t\x20-\x7E]*$/;

/** Where the hidden code points of a text stand, in order. */
export function* hiddenIn(text: string): Generator<{ readonly at: number; readonly codePoint: string }> {
  if (PRINTABLE_ASCII.test(text)) return;
  for (const found of text.matchAll(SUSPECT)) {
    const { 0: codePoint, index: at } = found;
    if (!isShown(text, at, codePoint)) yield { at, codePoint };
  }
}

/** A context is looked at this many UTF-16 units to either side. The longest emoji sequence has 15. */
const CONTEXT = 40;

function isShown(text: string, at: number, codePoint: string): boolean {
  if (kindOf(codePoint) !== "other") return isMark(text, at, codePoint);
  const read = JUDGED.get(codePoint);
  if (read === undefined) return false; // visible-4
  const before = text.slice(Math.max(0, at - CONTEXT), at);
  return read(before, text.slice(at + codePoint.length, at + CONTEXT), text, at);
}

type Judge = (before: string, after: string, text: string, at: number) => boolean;

/** The code points that are shown in some places only, marks aside. */
const JUDGED: ReadonlyMap<string, Judge> = new Map<string, Judge>([
  [
    "\u200C",
    (before, after, text, at) =>
      parts(before, after) || (endsInVirama(text, before, at) && beginsWithLetterOf(before, after)),
  ],
  [
    "\u200D",
    (before, after, text, at) =>
      joinsEmoji(before, after) || isRepha(before, after) || (endsInVirama(text, before, at) && !/^\p{M}/u.test(after)),
  ],
  ["\uFE0E", (before) => EMOJI.test(before)],
  ["\uFE0F", (before, after) => EMOJI.test(before) || (/[0-9#*]$/.test(before) && after.startsWith("\u20E3"))],
  ["\u20E3", (before) => /[0-9#*]\uFE0F$/.test(before)], // the keycap
]);

type Kind = "letter" | "nonspacing" | "spacing" | "other";

/** What a code point is to the marks after it. */
const kindOf = remembered((codePoint: string): Kind => {
  if (new RegExp(`[\\p{DI}${BLANK}]`, "u").test(codePoint)) return "other";
  if (/\p{Mn}/u.test(codePoint)) return "nonspacing";
  if (/\p{Mc}/u.test(codePoint)) return "spacing";
  return /\p{L}/u.test(codePoint) ? "letter" : "other";
});

/** The answers of a pure function, kept for the code points of one text. */
function remembered<T>(find: (key: string) => T): (key: string) => T {
  const known = new Map<string, T>();
  return (key) => {
    const before = known.get(key);
    if (before !== undefined) return before;
    if (known.size >= 4_096) known.clear();
    const found = find(key);
    known.set(key, found);
    return found;
  };
}

const firstOf = (text: string): string => [...text.slice(0, 2)][0] ?? "";

function lastOf(text: string, end = text.length): string {
  const pair = end > 1 ? text.slice(end - 2, end) : "";
  return (pair.codePointAt(0) ?? 0) > 0xffff ? pair : text.slice(Math.max(0, end - 1), end);
}

const NONSPACING_MARKS = 4;
const MARKS = 8;

/** Whether a mark belongs to the letter before it. (visible-2) */
function isMark(text: string, at: number, mark: string): boolean {
  const marks = [mark];
  for (let end = at; end > 0 && marks.length <= MARKS; ) {
    const last = lastOf(text, end);
    const kind = kindOf(last);
    end -= last.length;
    if (kind === "letter") return allSeen(last, marks, text.slice(at + mark.length, at + mark.length + 2));
    if (kind === "other")
      return (
        last === "\u200D" &&
        marks.length === 1 &&
        isRepha(text.slice(Math.max(0, end - 1), end), text.slice(at, at + 3))
      );
    if (last === marks[0]) return false;
    marks.unshift(last);
  }
  return false;
}

/** Whether these marks can be seen at this letter. `after`: what follows the last of them. */
function allSeen(letter: string, marks: readonly string[], after: string): boolean {
  if (marks.length > MARKS || marks.filter((mark) => kindOf(mark) === "nonspacing").length > NONSPACING_MARKS)
    return false;
  return marks.every((mark, index) => {
    if (mark === marks[index - 1] || !shareScript(letter + mark)) return false;
    // A stacker has no ink of its own: it puts the next letter below this one.
    return !STACKERS.test(mark) || (index === marks.length - 1 && beginsWithLetterOf(mark, after));
  });
}

/** Whether a letter and a mark can be of one script. A mark that Unicode gives to no script belongs to all. */
const shareScript = remembered((pair: string): boolean => {
  const mark = lastOf(pair);
  if (/\p{sc=Zinh}/u.test(mark)) return true;
  return MARKED_SCRIPTS.some((script) => script.test(mark) && script.test(firstOf(pair)));
});

function beginsWithLetterOf(before: string, after: string): boolean {
  const next = firstOf(after);
  return kindOf(next) === "letter" && shareScript(next + lastOf(before));
}

/** Whether a virama ends the text before a joiner, and belongs to its letter itself. (visible-3) */
function endsInVirama(text: string, before: string, at: number): boolean {
  const last = lastOf(before);
  return VIRAMA.test(last) && isMark(text, at - last.length, last);
}

/** Ra, joiner, virama, letter: Bengali's ya-phalaa and Kannada's ra. The joiner decides which of two forms is drawn. */
function isRepha(before: string, after: string): boolean {
  return /\u09B0$/.test(before) ? /^\u09CD\p{L}/u.test(after) : /\u0CB0$/.test(before) && /^\u0CCD\p{L}/u.test(after);
}

/** Whether a non-joiner keeps two letters apart that would be joined. (visible-3) */
function parts(before: string, after: string): boolean {
  const marked = new RegExp(`(.)([${TRANSPARENT}]{0,${NONSPACING_MARKS}})$`, "su").exec(before);
  const [, letter = "", marks = ""] = marked ?? [];
  const next = firstOf(after);
  const joined = DUAL_JOINING.findIndex((letters) => letters.test(letter));
  if (joined < 0 || !(DUAL_JOINING[joined]?.test(next) || RIGHT_JOINING[joined]?.test(next))) return false;
  return marks === "" || allSeen(letter, [...marks], "");
}

const BASE = "(?!\\p{Emoji_Component})\\p{Emoji}";
const ELEMENT = `${BASE}\\p{Emoji_Modifier}?\\uFE0F?`;
const EMOJI = new RegExp(`${BASE}$`, "u");
const BEFORE = new RegExp(`(?:${ELEMENT}\\u200D)*${ELEMENT}$`, "u");
const AFTER = new RegExp(`^${ELEMENT}(?:\\u200D${ELEMENT})*`, "u");
const RECOMMENDED = "\\p{RGI_Emoji_ZWJ_Sequence}";
let sequence: RegExp | undefined;

/** Whether a joiner stands within an emoji sequence that Unicode recommends. The whole run must be one. (visible-3) */
function joinsEmoji(before: string, after: string): boolean {
  const head = BEFORE.exec(before)?.[0];
  const tail = AFTER.exec(after)?.[0];
  if (head === undefined || tail === undefined) return false;
  sequence ??= new RegExp(`^${RECOMMENDED}$`, "v");
  return sequence.test(`${head}\u200D${tail}`);
}
