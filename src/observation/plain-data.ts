// Data that must outlive a checkpoint. LangGraph's serializer revives what looks like one of its own objects and refuses to
// load what is nested too deeply. Data from a server must be the same when it is loaded, with any checkpointer.

/** Levels that LangChain's loader certainly accepts in a message's data. It counts to 50, beginning at the message. */
export const SAFE_DEPTH = 32;

/** Keys that have a special meaning to a loader or in an assignment. */
export const MEANINGFUL: ReadonlySet<string> = new Set(["lc", "__lc_escaped__", "__proto__"]);

/** The value itself when every checkpointer loads it unchanged. Otherwise its JSON text, which no checkpointer parses. */
export function plainOrText(value: unknown): unknown {
  return survives(value) ? value : JSON.stringify(value);
}

/** Whether any LangGraph checkpointer loads the JSON data unchanged. It uses a list instead of recursion. */
export function survives(value: unknown): boolean {
  const pending: [unknown, number][] = [[value, 0]];
  while (pending.length > 0) {
    const [item, depth] = pending.pop() as [unknown, number];
    if (typeof item !== "object" || item === null) continue;
    if (depth >= SAFE_DEPTH) return false;
    for (const [key, inner] of Object.entries(item)) {
      if (!Array.isArray(item) && MEANINGFUL.has(key)) return false;
      pending.push([inner, depth + 1]);
    }
  }
  return true;
}
