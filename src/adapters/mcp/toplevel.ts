// Finds `id` and `method` of a JSON object while its text passes by, holding at most a few hundred bytes of it.
//
// Only keys of the outermost object count: an `id` within a result is the server's data, not the message's own.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN = new Set([0x7b, 0x5b]);
const CLOSE = new Set([0x7d, 0x5d]);
/** The longest key or id, in bytes, that is read whole. */
const MAX_TOKEN_BYTES = 256;

export class TopLevel {
  id: string | number | undefined;
  hasMethod = false;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #key: string | undefined;
  #token: number[] = [];

  push(bytes: Uint8Array): void {
    for (const byte of bytes) this.#step(byte);
  }

  #step(byte: number): void {
    if (this.#inString) {
      this.#append(byte);
      if (this.#escaped) this.#escaped = false;
      else if (byte === BACKSLASH) this.#escaped = true;
      else if (byte === QUOTE) this.#inString = false;
      return;
    }
    if (byte === QUOTE) {
      this.#inString = true;
      this.#append(byte);
    } else if (OPEN.has(byte)) this.#depth += 1;
    else if (CLOSE.has(byte)) {
      if (this.#depth === 1) this.#value();
      this.#depth -= 1;
    } else if (this.#depth !== 1) return;
    else if (byte === COLON) {
      const key = this.#text();
      this.#key = typeof key === "string" ? key : undefined;
      if (this.#key === "method") this.hasMethod = true;
    } else if (byte === COMMA) this.#value();
    else this.#append(byte);
  }

  #value(): void {
    const text = this.#text();
    if (this.#key === "id" && (typeof text === "string" || typeof text === "number")) this.id = text;
    this.#key = undefined;
  }

  #append(byte: number): void {
    if (this.#depth === 1 && this.#token.length < MAX_TOKEN_BYTES) this.#token.push(byte);
  }

  #text(): unknown {
    const text = Buffer.from(this.#token).toString("utf8");
    this.#token = [];
    try {
      return JSON.parse(text);
    } catch {
      return undefined;
    }
  }
}
