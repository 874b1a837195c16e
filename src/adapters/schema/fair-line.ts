// Fair line: what waits, served in turn for those who brought it.
//
//   line-1. Whoever has one thing waiting gets it before anybody else gets their second.

export interface FairLine<T> {
  add(from: string, one: T): void;
  /** The next one, which is taken out. */
  take(): T | undefined;
  /** Takes out all of which this holds. */
  takeAll(holds: (one: T) => boolean): T[];
  readonly size: number;
}

export function createFairLine<T>(): FairLine<T> {
  /** By who brought it, in the order of their turns. */
  const waiting = new Map<string, T[]>();
  return {
    add(from, one) {
      const own = waiting.get(from);
      if (own === undefined) waiting.set(from, [one]);
      else own.push(one);
    },
    take() {
      const [first] = waiting;
      if (first === undefined) return undefined;
      const [from, own] = first;
      const one = own.shift();
      waiting.delete(from);
      if (own.length > 0) waiting.set(from, own); // line-1
      return one;
    },
    takeAll(holds) {
      const taken: T[] = [];
      for (const [from, own] of [...waiting]) {
        const rest = own.filter((one) => !holds(one));
        taken.push(...own.filter(holds));
        if (rest.length === 0) waiting.delete(from);
        else waiting.set(from, rest);
      }
      return taken;
    },
    get size() {
      let size = 0;
      for (const own of waiting.values()) size += own.length;
      return size;
    },
  };
}
