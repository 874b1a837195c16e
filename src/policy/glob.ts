// Glob: text patterns in which only `*` is special.
//
// They are pure and never throw.
//
//   glob-1. All ways to match are followed at the same time and none is tried again, so matching takes time linear in the
//           length of the text, whatever the pattern.
//   glob-2. In a name, `*` covers any text. In a path, `*` stops at `/` and `**` does not.

const WITHIN = "*";
const ACROSS = "**";

/** A compiled glob: `*`, `**`, or one UTF-16 unit that stands for itself. */
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

/** Whether the glob covers the whole text. */
export function matches(glob: Glob, text: string): boolean {
  return placesAfter(glob, text)[glob.tokens.length] === 1;
}

/** Whether the glob covers some text that begins with `prefix`. */
export function canBegin(glob: Glob, prefix: string): boolean {
  return placesAfter(glob, prefix).includes(1);
}

/** Marks every place in the glob that can be reached by reading the text. (glob-1) */
function placesAfter({ tokens }: Glob, text: string): Uint8Array {
  let places = new Uint8Array(tokens.length + 1);
  let next = new Uint8Array(tokens.length + 1);
  places[0] = 1;
  skipStars(tokens, places);
  for (let at = 0; at < text.length; at++) {
    const unit = text[at] as string;
    next.fill(0);
    for (let place = 0; place < tokens.length; place++) {
      if (places[place] === 0) continue;
      const token = tokens[place] as string;
      if (token === ACROSS || token === WITHIN) {
        if (token === ACROSS || unit !== "/") next[place] = 1; // glob-2
      } else if (token === unit) {
        next[place + 1] = 1;
      }
    }
    skipStars(tokens, next);
    [places, next] = [next, places];
  }
  return places;
}

/** A star may cover nothing, so every place before a star is marked behind it as well. */
function skipStars(tokens: readonly string[], places: Uint8Array): void {
  for (let place = 0; place < tokens.length; place++) {
    const star = tokens[place] === WITHIN || tokens[place] === ACROSS;
    if (star && places[place] === 1) places[place + 1] = 1;
  }
}
