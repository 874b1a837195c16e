// Pump: reads a stream to its end at its own pace, so that what it holds is given back when it is done, not when its reader is.

/** The same items. The source runs on when nobody reads; whoever stops early waits for it to end. */
export async function* pumped<T>(source: AsyncGenerator<T>): AsyncGenerator<T> {
  const items: T[] = [];
  let wake = () => {};
  let ended = false;
  let failure: { readonly error: unknown } | undefined;
  const pumping = (async () => {
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
    await pumping;
  }
  if (failure) throw failure.error;
}
