// Watches the events of a server-sent event stream while the stream passes.
//
//   events-1. One event never takes more memory than the limit. The stream itself may go on for ever.
//   events-2. An event that is not replaced passes unchanged, byte for byte.

import { DROPPED } from "./pending-request.js";
import { piecesOf, Turn } from "./turns.js";

export interface EventHandlers {
  readonly limitBytes: () => number;
  /**
   * The data of an event that parsed as JSON. Returns what is handed on instead, or the same value to let it pass; `DROPPED`
   * leaves the event out.
   */
  readonly onData: (value: unknown) => unknown;
  /** An event had an id: the stream can be resumed. */
  readonly onId: () => void;
  /** One event was above the limit; the stream is ended. */
  readonly onOversize: (bytes: number) => void;
  /** The stream ended, or broke with an error. Not called when the reader cancelled it. */
  readonly onEnd: (error?: unknown) => void;
}

/** The same stream. Its events are handed to `handlers` while they pass. */
export function watchEvents(body: ReadableStream<Uint8Array>, handlers: EventHandlers): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const events = new EventCutter((event) => passEvent(event, handlers));
  const turn = new Turn();
  let pieces: Iterator<Uint8Array> = piecesOf(new Uint8Array(0));
  /** The next piece of what was read, and then of what is read next. */
  const next = async (): Promise<Uint8Array | undefined> => {
    for (;;) {
      const piece = pieces.next();
      if (!piece.done) return piece.value;
      const { done, value } = await reader.read();
      if (done) return undefined;
      pieces = piecesOf(value);
    }
  };

  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        for (;;) {
          await turn.pass(); // turns-1
          const piece = await next();
          if (piece === undefined) {
            handlers.onEnd();
            controller.close();
            return;
          }
          const passed = events.push(decoder.decode(piece, { stream: true }));
          if (events.bytes > handlers.limitBytes()) {
            handlers.onOversize(events.bytes); // events-1
            controller.error(new Error("an event above the size limit"));
            await reader.cancel().catch(() => {});
            return;
          }
          if (passed === "") continue;
          controller.enqueue(encoder.encode(passed));
          return;
        }
      } catch (error) {
        handlers.onEnd(error);
        controller.error(error);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** Cuts text into whole events. The boundary between two events may lie across two chunks. */
class EventCutter {
  readonly #pass: (event: string) => string;
  #parts: string[] = [];
  #tail = "";
  /** Bytes of the event that has begun and not ended. */
  bytes = 0;

  constructor(pass: (event: string) => string) {
    this.#pass = pass;
  }

  /** Adds a chunk. Returns what the events that ended in it are passed on as. */
  push(chunk: string): string {
    let passed = "";
    let rest = chunk;
    for (;;) {
      const found = /\r\n\r\n|\n\n|\r\r/.exec(this.#tail + rest);
      if (found === null) break;
      const end = found.index + found[0].length - this.#tail.length;
      passed += this.#pass(this.#parts.join("") + rest.slice(0, end));
      rest = rest.slice(end);
      [this.#parts, this.bytes, this.#tail] = [[], 0, ""];
    }
    if (rest !== "") {
      this.#parts.push(rest);
      this.bytes += Buffer.byteLength(rest);
      this.#tail = (this.#tail + rest).slice(-3);
    }
    return passed;
  }
}

/** Hands one event to `handlers`. Returns its text, or the text of what it is replaced by. */
function passEvent(text: string, handlers: EventHandlers): string {
  const lines = text.split(/\r\n|\n|\r/);
  if (lines.some((line) => line.startsWith("id:"))) handlers.onId();
  const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5).replace(/^ /, ""));
  if (data.length === 0) return text;
  let value: unknown;
  try {
    value = JSON.parse(data.join("\n"));
  } catch {
    return text;
  }
  const handed = handlers.onData(value);
  if (handed === value) return text; // events-2
  if (handed === DROPPED) return "";
  const others = lines.filter((line) => line !== "" && !line.startsWith("data:"));
  return `${[...others, `data: ${JSON.stringify(handed)}`].join("\n")}\n\n`;
}
