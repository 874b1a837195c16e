// Ahead: lists that are begun when a batch is judged, for the claim that follows in the same run. Meanwhile the run stores
// its step.
//
//   ahead-1. Such a list counts once, for the batch and the run that it was begun for, and for 250 ms.

/** Milliseconds for which a list that was begun ahead counts. */
const COUNTS_MS = 250;

/** One batch in one run. The run is told apart by its lease; who has none lists nothing ahead. */
export interface ListedFor {
  readonly run: object | undefined;
  readonly proposalId: string | undefined;
}

interface Ahead<Listed> {
  begin(place: ListedFor, names: readonly string[], list: (name: string) => Promise<Listed>): void;
  /** The list of a server that was begun, and counts. (ahead-1) */
  take(place: ListedFor, name: string): Promise<Listed> | undefined;
}

/** `steady`: milliseconds that never go back. */
export function listsAhead<Listed>(steady: () => number): Ahead<Listed> {
  interface Begun {
    readonly proposalId: string;
    readonly at: number;
    readonly lists: Map<string, Promise<Listed>>;
  }
  const begun = new WeakMap<object, Begun>();
  return {
    begin({ run, proposalId }, names, list) {
      if (run === undefined || proposalId === undefined) return;
      const lists = new Map([...new Set(names)].map((name) => [name, list(name)]));
      for (const listed of lists.values()) listed.catch(() => undefined); // whoever takes it is told
      begun.set(run, { proposalId, at: steady(), lists });
    },
    take({ run, proposalId }, name) {
      const found = run && begun.get(run);
      if (found === undefined || found.proposalId !== proposalId || steady() - found.at > COUNTS_MS) return undefined;
      const listed = found.lists.get(name);
      found.lists.delete(name);
      return listed;
    },
  };
}
