// Matcher: finds every occurrence of many strings in one pass over a text (Wu and Manber's algorithm).
//
// The time grows with the length of the text. It hardly depends on how many strings are looked for: three characters at the
// end of a window say how far the next window may lie.

/** From, and up to but not including. */
export type Span = readonly [from: number, to: number];

const BLOCK = 3;
const SLOTS = 65_536;

/** **Contract:** every needle has at least `shortest` characters, and `shortest` is at least 3. */
export function createMatcher(needles: readonly string[], shortest: number): (text: string) => Span[] {
  if (needles.length === 0) return () => [];
  const farthest = shortest - BLOCK + 1;
  const steps = new Uint8Array(SLOTS).fill(Math.min(farthest, 255));
  const ending = new Map<number, string[]>();
  for (const needle of needles) {
    for (let at = 0; at < farthest; at++) {
      const slot = slotOf(needle, at);
      steps[slot] = Math.min(steps[slot] as number, farthest - 1 - at);
    }
    const last = slotOf(needle, farthest - 1);
    ending.set(last, [...(ending.get(last) ?? []), needle]);
  }
  return (text) => {
    const spans: Span[] = [];
    for (let from = 0; from + shortest <= text.length; ) {
      const slot = slotOf(text, from + farthest - 1);
      const step = steps[slot] as number;
      if (step === 0) {
        for (const needle of ending.get(slot) ?? []) {
          if (text.startsWith(needle, from)) spans.push([from, from + needle.length]);
        }
      }
      from += step || 1;
    }
    return spans;
  };
}

function slotOf(text: string, at: number): number {
  return ((text.charCodeAt(at) * 31 + text.charCodeAt(at + 1)) * 31 + text.charCodeAt(at + 2)) & (SLOTS - 1);
}

/** The same places without overlaps, in order. */
export function merged(spans: readonly Span[]): Span[] {
  const whole: [number, number][] = [];
  for (const [from, to] of [...spans].sort((a, b) => a[0] - b[0] || b[1] - a[1])) {
    const last = whole.at(-1);
    if (last !== undefined && from < last[1]) last[1] = Math.max(last[1], to);
    else whole.push([from, to]);
  }
  return whole;
}
