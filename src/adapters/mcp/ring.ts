// The last part of what a child wrote to stderr. It is bounded, so that a flood of output costs no memory, and it is always
// read, so that the child never blocks on a full pipe.
//
//   stderr-1. Text that was cut at its start is shown from the next whole line on, because the redactor does not recognise
//             the second half of a secret.

import { StringDecoder } from "node:string_decoder";

const KEPT_CHARS = 8_192;

export class Ring {
  readonly #decoder = new StringDecoder("utf8");
  #text = "";
  #cut = false;

  push(chunk: Buffer): void {
    // The beginning of a chunk that is longer than the ring would be dropped at once, so it is not decoded.
    const end = chunk.length > KEPT_CHARS * 4 ? chunk.subarray(chunk.length - KEPT_CHARS * 4) : chunk;
    if (end !== chunk) this.#cut = true;
    this.#text += this.#decoder.write(end);
    if (this.#text.length <= KEPT_CHARS) return;
    this.#text = this.#text.slice(-KEPT_CHARS);
    this.#cut = true;
  }

  /** The last `count` lines with something on them. Not redacted yet. */
  lastLines(count: number): string {
    const whole = this.#cut ? this.#text.slice(this.#text.indexOf("\n") + 1 || this.#text.length) : this.#text; // stderr-1
    return whole
      .split("\n")
      .filter((line) => line.trim() !== "")
      .slice(-count)
      .join("\n");
  }
}
