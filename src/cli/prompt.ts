// Reads one line from the person at the terminal, typed after the question was shown.
//
//   prompt-1. What was typed before the question does not count: it is read and thrown away, a half-typed line too.
//   prompt-2. A paste of several lines is no answer, because nobody typed its first line to this question.
//   prompt-3. The end of input, Ctrl-C and a stop from outside are no answer.
//
// Between questions nothing reads stdin and the terminal is in its normal mode, so that Ctrl-C stops the run.

import { createInterface } from "node:readline";
import type { Input, Output } from "./io.js";

export type Typed =
  | { readonly kind: "line"; readonly text: string }
  | { readonly kind: "paste" }
  | { readonly kind: "end" };

/** Shows `prompt` and reads one line. Never rejects. */
export type Ask = (prompt: string) => Promise<Typed>;

export function createAsk(input: Input, output: Output, stop: AbortSignal): Ask {
  return async (prompt) => {
    await discardTyped(input); // prompt-1
    if (input.readableEnded || input.destroyed || stop.aborted) return { kind: "end" };
    return readLine(input, output, stop, prompt);
  };
}

/** After this many turns of the event loop without input nothing more is waiting. Each turn polls the terminal. */
const QUIET_TURNS = 3;

async function discardTyped(input: Input): Promise<void> {
  input.setRawMode?.(true); // in raw mode a half-typed line can be read, too (prompt-1)
  let quiet = 0;
  const discard = () => {
    quiet = 0;
  };
  input.on("data", discard);
  input.resume();
  while (quiet++ < QUIET_TURNS) await new Promise((resolve) => setImmediate(resolve));
  input.off("data", discard);
  input.pause();
}

function readLine(input: Input, output: Output, stop: AbortSignal, prompt: string): Promise<Typed> {
  return new Promise((resolve) => {
    const lines = createInterface({
      input,
      output,
      terminal: true,
      historySize: 0,
      crlfDelay: Number.POSITIVE_INFINITY,
    });
    let first: string | undefined;
    let more = false;
    const finish = (typed: Typed) => {
      stop.removeEventListener("abort", end);
      lines.off("close", end);
      lines.close();
      if (typed.kind === "end") output.write("\n");
      resolve(typed);
    };
    const end = () => finish({ kind: "end" }); // prompt-3
    lines.on("line", (text) => {
      if (first !== undefined) {
        more = true;
        return;
      }
      first = text;
      // The rest of a paste arrives together with the first line or directly after it. (prompt-2)
      setImmediate(() =>
        setImmediate(() => finish(more || lines.line !== "" ? { kind: "paste" } : { kind: "line", text })),
      );
    });
    lines.on("SIGINT", end);
    lines.on("close", end);
    stop.addEventListener("abort", end);
    lines.setPrompt(prompt);
    lines.prompt();
  });
}
