// Background: calls in flight and late answers, which outlive the run that sent them.

export interface Background {
  /** Takes work that `close()` must wait for, by the operation that it is about. */
  readonly add: (work: Promise<unknown>, operationId: string) => void;
  /** Resolves once this process waits for nothing more about the operation. */
  readonly quiet: (operationId: string) => Promise<void>;
  /** Resolves once everything has ended, what is added in the meantime included. */
  readonly allQuiet: () => Promise<void>;
}

export function createBackground(): Background {
  const pending = new Map<string, Promise<unknown>>();
  return {
    add: (work, operationId) => {
      const over = work.catch(() => undefined).finally(() => pending.delete(operationId));
      pending.set(operationId, over);
    },
    quiet: async (operationId) => {
      await pending.get(operationId);
    },
    allQuiet: async () => {
      while (pending.size > 0) await Promise.allSettled([...pending.values()]); // a call that ends may still be listened for
    },
  };
}
