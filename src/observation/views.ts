// Views: a text as it is, and as it reads when its escapes are undone, with the place in the text of each character.
//
// Undone are the escapes of JSON and JavaScript (`\u0041`, `\x41`, `\/`), percent-encoding and the numbers and common names of
// HTML, in any mixture, because a writer may escape every character or only some. Each view takes time that grows with the
// length of the text.

export interface View {
  readonly text: string;
  /** Where the character at this place of the view begins in the text it was made from. */
  readonly placeOf: (at: number) => number;
}

const STRICT = escapes("\\\\", "[/\"'`\\\\bfnrt]", "%", "&");
/** Escapes that were escaped again, however often: `\\\\u0041` and `%252541` are the character that they began as. */
const NESTED = escapes("(?<!\\\\)\\\\+", "[/\"'`bfnrt]", "%(?:25)*", "&(?:amp;|#38;|#x26;)*");

function escapes(backslash: string, escaped: string, percent: string, and: string): RegExp {
  const next = "%[89ab][0-9a-f]";
  const bytes = `[0-7][0-9a-f]|[cd][0-9a-f]${next}|e[0-9a-f](?:${next}){2}|f[0-7](?:${next}){3}`;
  const code = `u([0-9a-f]{4})|u\\{([0-9a-f]{1,6})\\}|x([0-9a-f]{2})|(${escaped})`;
  return new RegExp(
    `${backslash}(?:${code})|${percent}(${bytes})|${and}(?:#([0-9]{1,7});?|#x([0-9a-f]{1,6});?|(amp|lt|gt|quot|apos);)`,
    "gi",
  );
}

/** The text itself first. A view that reads like an earlier one is left out. */
export function viewsOf(text: string): View[] {
  const whole: View = { text, placeOf: (at) => at };
  if (!/[\\%&]/.test(text)) return [whole];
  const once = undone(whole, STRICT);
  const twice = once && undone(once, STRICT);
  return [whole, once, twice, undone(whole, NESTED)].filter((view) => view !== undefined);
}

/** A view of a view; undefined where there is nothing to undo. */
function undone({ text, placeOf }: View, pattern: RegExp): View | undefined {
  const pieces: string[] = [];
  const places: number[] = []; // of every character
  let end = 0;
  const keep = (to: number) => {
    if (to === end) return;
    pieces.push(text.slice(end, to));
    for (let at = end; at < to; at++) places.push(at);
  };
  for (const found of text.matchAll(pattern)) {
    const char = meantBy(found);
    if (char === undefined) continue;
    keep(found.index);
    pieces.push(char);
    for (let n = 0; n < char.length; n++) places.push(found.index);
    end = found.index + found[0].length;
  }
  if (end === 0) return undefined;
  keep(text.length);
  return { text: pieces.join(""), placeOf: (at) => placeOf(places[at] ?? text.length) };
}

const SHORT: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const NAMED: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

function meantBy([, u4, u6, x2, short, bytes, decimal, hex, named]: RegExpMatchArray): string | undefined {
  if (short !== undefined) return SHORT[short.toLowerCase()] ?? short;
  if (named !== undefined) return NAMED[named.toLowerCase()];
  if (bytes !== undefined) return decoded(`%${bytes}`);
  const code = decimal === undefined ? Number.parseInt(u4 ?? u6 ?? x2 ?? hex ?? "", 16) : Number(decimal);
  return code <= 0x10ffff ? String.fromCodePoint(code) : undefined;
}

function decoded(bytes: string): string | undefined {
  try {
    return decodeURIComponent(bytes);
  } catch {
    return undefined; // no UTF-8
  }
}
