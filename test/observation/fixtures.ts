import type { Operation, Outcome } from "../../src/contracts/index.js";
import type { Observed } from "../../src/observation/index.js";
import { toBody } from "../../src/observation/index.js";

const id = "1".repeat(64);

export const operation: Operation = {
  id,
  proposalId: "proposal",
  index: 0,
  callId: "call_1",
  alias: "mcp__docs__search_docs",
  server: "docs",
  tool: "search.docs",
  arguments: { query: "x" },
  argumentsDigest: "2".repeat(64),
  effect: "read",
  decision: { kind: "allow", rules: ["mcp__docs"], reason: "allow by `mcp__docs`" },
};

export const ok: Outcome = { status: "ok", reason: "success", by: "server", message: "" };

/** An observed call that returned `result`. */
export function returned(result: unknown, more: Partial<Observed> = {}): Observed {
  return { operation, outcome: ok, snapshotId: "3".repeat(64), body: toBody(result), replayed: false, ...more };
}

/** The same for a tool of the host. */
export function local(result: unknown, more: Partial<Observed> = {}): Observed {
  return returned(result, {
    operation: { ...operation, server: "local", tool: "read_file", alias: "read_file" },
    ...more,
  });
}

export const text = (...texts: string[]) => ({ content: texts.map((item) => ({ type: "text", text: item })) });
