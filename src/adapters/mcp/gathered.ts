// Gathered: bytes that come in parts, put together as they come.
//
// A list of parts costs a few hundred bytes for each part: a server that sends byte by byte would make of four megabytes more
// than a gigabyte. Here the memory is at most twice the bytes, however they are cut.

const START_BYTES = 4_096;

export class Gathered {
  #space: Buffer = Buffer.alloc(0);
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  add(part: Uint8Array): void {
    const bytes = this.#bytes + part.byteLength;
    if (this.#bytes === 0) {
      this.#space = Buffer.from(part.buffer, part.byteOffset, part.byteLength); // most lines are one part: it is not copied
    } else if (bytes > this.#space.byteLength) {
      const space = Buffer.allocUnsafeSlow(Math.max(START_BYTES, 2 * this.#space.byteLength, bytes));
      space.set(this.#space.subarray(0, this.#bytes));
      this.#space = space;
    }
    if (this.#bytes > 0) this.#space.set(part, this.#bytes);
    this.#bytes = bytes;
  }

  /** The bytes so far. What is returned is not copied: it is to be read before the next `add`. */
  whole(): Buffer {
    return this.#space.subarray(0, this.#bytes);
  }
}
