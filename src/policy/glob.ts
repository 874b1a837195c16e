// Glob: text patterns in which only `*` is special.
//
// Pure, total.
//
//   W1. Every way to match is followed at once and none is retried: time is linear in the text, whatever the pattern.
//   W2. In a name a `*` covers anything. In a path `*` stops at `/`, and `**` does not.

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

/** Marks every place in the glob that can be reached by reading the text. (W1) */
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
        if (token === ACROSS || unit !== "/") next[place] = 1; // W2
      } else if (token === unit) {
        next[place + 1] = 1;
      }
    }
    skipStars(tokens, next);
    [places, next] = [next, places];
  }
  return places;
}

/** A star may cover nothing: whoever stands before it also stands behind it. */
function skipStars(tokens: readonly string[], places: Uint8Array): void {
  for (let place = 0; place < tokens.length; place++) {
    const star = tokens[place] === WITHIN || tokens[place] === ACROSS;
    if (star && places[place] === 1) places[place + 1] = 1;
  }
}
