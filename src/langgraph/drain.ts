// Drain: runs a stream to its end even if the consumer stops reading, so that the thread's lease is released when the run
// ends and not only when its reader does.

/** The same items. A consumer that stops early waits until the source has ended. */
export async function* drained<T>(source: AsyncGenerator<T>): AsyncGenerator<T> {
  const items: T[] = [];
  let wake = () => {};
  let ended = false;
  let failure: { readonly error: unknown } | undefined;
  const draining = (async () => {
    try {
      for await (const item of source) {
        items.push(item);
        wake();
      }
    } catch (error) {
      failure = { error };
    } finally {
      ended = true;
      wake();
    }
  })();
  try {
    for (;;) {
      while (items.length > 0) yield items.shift() as T;
      if (ended) break;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    await draining;
  }
  if (failure) throw failure.error;
}
