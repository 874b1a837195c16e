// Keyed mutex: one write of a thread at a time within this process. It only makes conflicts in the
// database rarer; nothing is wrong without it.

/** Runs tasks that share a key one after the other. */
export class KeyedMutex {
  private readonly last = new Map<string, Promise<unknown>>();

  async take<T>(keys: readonly string[], run: () => Promise<T>): Promise<T> {
    const before = keys.map((key) => this.last.get(key));
    const task = Promise.all(before).then(run);
    const ended = task.then(
      () => undefined,
      () => undefined,
    );
    for (const key of keys) this.last.set(key, ended);
    try {
      return await task;
    } finally {
      for (const key of keys) if (this.last.get(key) === ended) this.last.delete(key);
    }
  }
}
