// History: what happened in a run, line by line. No random id and no real time is in it: ids get ordinal names in the
// order in which they are met, so that two runs of one seed have the same text.

export interface History {
  /** A line for a reader. */
  say(who: string, what: string): void;
  /** A line that only the whole trace has. */
  trace(who: string, what: string): void;
  /** The name of an id: `op 1`, `question 2`. */
  name(kind: string, id: string): string;
  readonly lines: readonly string[];
  readonly full: readonly string[];
}

export function createHistory(now: () => number): History {
  const lines: string[] = [];
  const full: string[] = [];
  const names = new Map<string, string>();
  const counts = new Map<string, number>();
  const line = (who: string, what: string) => `${(now() / 1_000).toFixed(3).padStart(12)} s  ${who}: ${what}`;
  return {
    say: (who, what) => {
      lines.push(line(who, what));
      full.push(line(who, what));
    },
    trace: (who, what) => {
      full.push(line(who, what));
    },
    name(kind, id) {
      const known = names.get(id);
      if (known !== undefined) return known;
      const count = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, count);
      const name = `${kind} ${count}`;
      names.set(id, name);
      return name;
    },
    lines,
    full,
  };
}
