// Glob: text patterns in which only `*` is special.
//
// They are pure and never throw.
//
//   glob-1. All ways to match are followed at the same time and none is tried again, so matching takes time linear in the
//           length of the text, whatever the pattern.
//   glob-2. In a name, `*` covers any text. In a path, `*` stops at `/` and `**` does not.

const WITHIN = "*";
const ACROSS = "**";
/** Any text that ends with `/`. Only wide globs have it, and `MAYBE` before it: it may stand for nothing at all. */
const FOLDERS = "**/";
const MAYBE = "";

/** A compiled glob: `*`, `**`, optional folders, or one UTF-16 unit that stands for itself. */
export interface Glob {
  readonly tokens: readonly string[];
}

/** A glob over a name: any run of `*` covers anything. */
export function nameGlob(text: string): Glob {
  return pathGlob(text.replace(/\*+/g, ACROSS));
}

/** A glob over a path: `*` does not cross `/`, `**` does. */
export function pathGlob(text: string): Glob {
  return { tokens: text.match(/\*\*|[\s\S]/g) ?? [] };
}

/** A glob over a path that covers more than is written: `**` with its slash may stand for no folder at all. */
export function wideGlob(text: string): Glob {
  const tokens = text.match(/(?<=^|\/)\*\*\/|\*\*|[\s\S]/g) ?? [];
  return { tokens: tokens.flatMap((token) => (token === FOLDERS ? [MAYBE, FOLDERS] : [token])) };
}

/** Whether the glob covers the whole text. */
export function matches(glob: Glob, text: string): boolean {
  return placesAfter(glob, text)[glob.tokens.length] === 1;
}

/** Whether the glob covers some text that begins with `prefix`. */
export function canBegin(glob: Glob, prefix: string): boolean {
  return placesAfter(glob, prefix).includes(1);
}

/** Whether some text is covered by both globs. The second one is a plain one. */
export function overlap(glob: Glob, other: Glob): boolean {
  return placesAfter(glob, other.tokens)[glob.tokens.length] === 1;
}

/** Marks every place in the glob that can be reached by reading a text, or the tokens of another glob. (glob-1) */
function placesAfter({ tokens }: Glob, read: string | readonly string[]): Uint8Array {
  const isText = typeof read === "string"; // in a text a star is a letter
  let places = new Uint8Array(tokens.length + 1);
  let next = new Uint8Array(tokens.length + 1);
  places[0] = 1;
  skipStars(tokens, places);
  for (let at = 0; at < read.length; at++) {
    const unit = read[at] as string;
    if (!isText && (unit === WITHIN || unit === ACROSS)) {
      readStar(tokens, places, unit);
      continue;
    }
    readUnit(tokens, places, next, unit);
    [places, next] = [next, places];
  }
  return places;
}

function readUnit(tokens: readonly string[], places: Uint8Array, next: Uint8Array, unit: string): void {
  next.fill(0);
  for (let place = 0; place < tokens.length; place++) {
    if (places[place] === 0) continue;
    const token = tokens[place] as string;
    if (token === ACROSS || token === FOLDERS || token === WITHIN) {
      if (token !== WITHIN || unit !== "/") next[place] = 1; // glob-2
      if (token === FOLDERS && unit === "/") next[place + 1] = 1;
    } else if (token === unit) {
      next[place + 1] = 1;
    }
  }
  skipStars(tokens, next);
}

/** Reads whatever a star of another glob may stand for. */
function readStar(tokens: readonly string[], places: Uint8Array, star: string): void {
  for (let place = 0; place < tokens.length; place++) {
    const token = tokens[place] as string;
    if (places[place] === 1 && (star === ACROSS || (token !== "/" && token !== FOLDERS))) places[place + 1] = 1;
  }
  skipStars(tokens, places);
}

/** A star may cover nothing, so every place before a star is marked behind it as well. */
function skipStars(tokens: readonly string[], places: Uint8Array): void {
  for (let place = 0; place < tokens.length; place++) {
    if (places[place] === 0) continue;
    const token = tokens[place] as string;
    if (token === WITHIN || token === ACROSS || token === MAYBE) places[place + 1] = 1;
    if (token === MAYBE) places[place + 2] = 1;
  }
}
