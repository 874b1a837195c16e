// The end of what a child wrote to stderr: bounded, so that a flood costs nothing, and read so that it never blocks.
//
//   E1. A text that was cut at its start is shown from the next whole line on: half a secret is not recognised as one.

import { StringDecoder } from "node:string_decoder";

const KEPT_CHARS = 8_192;

export class Ring {
  readonly #decoder = new StringDecoder("utf8");
  #text = "";
  #cut = false;

  push(chunk: Buffer): void {
    // A chunk longer than the ring: what falls out at once need not be decoded.
    const end = chunk.length > KEPT_CHARS * 4 ? chunk.subarray(chunk.length - KEPT_CHARS * 4) : chunk;
    if (end !== chunk) this.#cut = true;
    this.#text += this.#decoder.write(end);
    if (this.#text.length <= KEPT_CHARS) return;
    this.#text = this.#text.slice(-KEPT_CHARS);
    this.#cut = true;
  }

  /** The last `count` lines with something on them. Not redacted yet. */
  lastLines(count: number): string {
    const whole = this.#cut ? this.#text.slice(this.#text.indexOf("\n") + 1 || this.#text.length) : this.#text; // E1
    return whole
      .split("\n")
      .filter((line) => line.trim() !== "")
      .slice(-count)
      .join("\n");
  }
}
