// Slices: bounds the work on tools that is done before the event loop runs again, by all listings of a process together.
//
//   slices-1. At most `TOOLS_A_SLICE` tools are made ready between two runs of the event loop, and none after the tool with
//             which they have more than `CHARS_A_SLICE` characters of JSON.

/** Tools that are made ready before the event loop runs again. */
export const TOOLS_A_SLICE = 16;
/** Characters of JSON after which it runs again although fewer tools were made ready. */
export const CHARS_A_SLICE = 100_000;
/** A tool that is known already is only compared. That costs so many times less than to make it ready. */
const KNOWN_COSTS_LESS = 10;

export interface Slices {
  /** What must be awaited before a tool is made ready; undefined when there is room. To be asked again after it was awaited. */
  full(): Promise<void> | undefined;
  /** Takes room for a tool of so many characters. */
  take(chars: number, known: boolean): void;
}

/** `pause` resolves after the event loop has run. */
export function createSlices(pause: () => Promise<void>): Slices {
  let taken = 0; // 1 is a whole slice
  let pausing: Promise<void> | undefined;
  return {
    full: () => pausing,
    take(chars, known) {
      const share = chars / CHARS_A_SLICE;
      taken += known ? share / KNOWN_COSTS_LESS : Math.max(share, 1 / TOOLS_A_SLICE);
      if (taken < 1 || pausing !== undefined) return;
      pausing = pause().then(() => {
        taken = 0;
        pausing = undefined;
      });
    },
  };
}
