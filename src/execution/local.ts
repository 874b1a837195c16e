// Local tools: the host's own functions, called like a server's tool and settled by the same table.
//
//   local-1. A tool that returned is `ok`. One that threw is `failed` for a read and `result_unknown` for a write. Past its
//            deadline it is `unavailable` and `result_unknown`; what comes later is late evidence.

import type { Call, CallEvidence } from "../contracts/mcp-port.js";

export interface LocalCallOptions {
  readonly deadlineMs: number;
  readonly keepListeningMs: number;
  /** Resolves after so many milliseconds; `cancel` ends the wait early. */
  readonly after: (ms: number) => { readonly elapsed: Promise<void>; readonly cancel: () => void };
  readonly signal?: AbortSignal | undefined;
}

/** Calls a function as if it were a server's tool. `asResult` turns what it returned into an MCP tool result. */
export function localCall(
  run: () => Promise<unknown>,
  asResult: (value: unknown) => unknown,
  options: LocalCallOptions,
): Call {
  const answer: Promise<CallEvidence> = Promise.resolve()
    .then(run)
    .then(
      (value) => ({ attempted: true, refused: false, how: "response", response: { result: asResult(value) } }) as const,
      (error: unknown) => ({
        attempted: true,
        refused: false,
        how: "response",
        response: {
          result: { content: [{ type: "text", text: String((error as Error)?.message ?? error) }], isError: true },
        },
      }),
    );
  const timer = options.after(options.deadlineMs);
  const deadline = timer.elapsed.then((): CallEvidence => ({ attempted: true, refused: false, how: "deadline" }));
  const contenders = options.signal ? [answer, deadline, whenAborted(options.signal)] : [answer, deadline];
  const evidence = Promise.race(contenders).finally(timer.cancel);
  return {
    evidence,
    late: evidence.then((first) => (first.how === "deadline" ? lateAnswer(answer, options) : undefined)),
  };
}

function lateAnswer(answer: Promise<CallEvidence>, options: LocalCallOptions): Promise<CallEvidence | undefined> {
  const timer = options.after(options.keepListeningMs);
  return Promise.race([answer, timer.elapsed.then(() => undefined)]).finally(timer.cancel);
}

function whenAborted(signal: AbortSignal): Promise<CallEvidence> {
  const evidence: CallEvidence = { attempted: true, refused: false, how: "aborted" };
  if (signal.aborted) return Promise.resolve(evidence);
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(evidence), { once: true }));
}
