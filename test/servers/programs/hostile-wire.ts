// What the hostile servers say and how it leaves: the wire, the text of an answer, noise, and death.
//
//   What goes out is text made here; a wire only frames it (a line, an SSE event, a body).

import type { HostileConfig } from "./hostile-config.js";

/** How messages leave. All promises resolve when the bytes are out of this process. */
export interface Wire {
  /** One message, framed. */
  write(message: string | Buffer): Promise<void>;
  /** One message in two parts, `ms` apart. */
  writeSplit(message: Buffer, at: number, ms: number): Promise<void>;
  /** The first half of a framed message and no more. */
  writeHalf(message: string): Promise<void>;
  /** Text that is no message, framed as one. */
  noise(text: string): Promise<void>;
  /** Ends the server without a word: by SIGKILL of its process, or by `process.exit(code)`. */
  die(by: "SIGKILL" | "exit", code?: number): void;
  /** HTTP only. */
  status?(status: number, headers: Record<string, string>, body: string): Promise<void>;
  drop?(headers: boolean): Promise<void>;
}

/** `open` means: no answer is coming from here, and whoever holds the response keeps it open. */
export type Received = "done" | "open";

/** A raw result, JSON text that stands for one, or a raw error; the error wins, then the text. */
export interface ReplyParts {
  readonly result?: unknown;
  readonly resultText?: string | undefined;
  readonly error?: unknown;
}

/** What 2026-07-28 demands of lists and of server/discover beside resultType. */
export const uncached = { ttlMs: 0, cacheScope: "private" };

/** The text of an answer. On 2026-07-28 a result without resultType and `demanded` fields gets them (hostile-config-1). */
export function answerText(
  protocol: HostileConfig["protocol"],
  id: unknown,
  reply: ReplyParts,
  demanded: object = {},
): string {
  if (reply.error !== undefined) return JSON.stringify({ jsonrpc: "2.0", id, error: reply.error });
  if (reply.resultText !== undefined)
    return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${reply.resultText}}`;
  const added = protocol === "2026-07-28" ? { resultType: "complete", ...demanded } : {};
  const result = isObject(reply.result) ? { ...added, ...reply.result } : reply.result;
  return JSON.stringify({ jsonrpc: "2.0", id, result });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Ends this process without a word. */
export function endProcess(by: "SIGKILL" | "exit", code = 1): never {
  if (by === "SIGKILL") process.kill(process.pid, "SIGKILL");
  return process.exit(code);
}

/** Lines that are no protocol, then one of `bytes`. */
export async function noise(say: { lines: readonly string[]; bytes?: number | undefined }, wire: Wire): Promise<void> {
  for (const line of say.lines) await wire.noise(line);
  if (say.bytes !== undefined) await wire.noise("x".repeat(say.bytes));
}
