// Data that outlives a checkpoint: LangGraph's serializer revives what looks like one of its own objects, and refuses
// to load what is nested too deeply. Data from a server must come back as it went in, with any checkpointer.

/** Levels below which LangChain's loader surely accepts a message's data (it counts to 50, from the message on). */
const SAFE_DEPTH = 32;

/** Keys a loader or an assignment gives a meaning of its own. */
const MEANINGFUL = new Set(["lc", "__lc_escaped__", "__proto__"]);

/** The value itself when every checkpointer brings it back equal, otherwise its JSON text, which none looks into. */
export function plainOrText(value: unknown): unknown {
  return survives(value) ? value : JSON.stringify(value);
}

/** Whether JSON data comes back equal from any LangGraph checkpointer. Iterative. */
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
