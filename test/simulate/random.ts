// Random: the one source of chance in a run. What is drawn depends on the seed and on what was drawn before, on nothing else.

export interface Random {
  /** In [0, 1). */
  next(): number;
  /** A whole number in [0, below). */
  int(below: number): number;
  pick<T>(from: readonly T[]): T;
  chance(probability: number): boolean;
}

/** `label` gives one seed several sources that do not disturb each other. */
export function randomOf(seed: number, label: string): Random {
  let state = mix(seed >>> 0, label);
  const next = () => {
    state = (state + 0x6d2b79f5) | 0; // mulberry32
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const int = (below: number) => Math.floor(next() * below);
  return {
    next,
    int,
    pick: (from) => from[int(from.length)] as (typeof from)[number],
    chance: (probability) => next() < probability,
  };
}

/** FNV-1a over the label, begun at the seed. */
function mix(seed: number, label: string): number {
  let hash = (0x811c9dc5 ^ Math.imul(seed, 0x9e3779b1)) | 0;
  for (const letter of label) hash = Math.imul(hash ^ letter.charCodeAt(0), 0x01000193);
  return hash;
}
