// Bytes of a server's stdout, cut into JSON-RPC messages.
//
//   B1. A line above the limit is never held: it is scanned for its id while it passes.
//   B2. What is not JSON-RPC is skipped and counted; it neither ends the connection nor reaches anyone.

import { isObject } from "../../contracts/index.js";
import { TopLevel } from "./toplevel.js";

export interface LineHandlers {
  readonly limitBytes: () => number;
  /** A JSON-RPC message. */
  readonly onMessage: (message: Readonly<Record<string, unknown>>) => void;
  /** A response that was dropped for its size. */
  readonly onOversize: (id: string | number, bytes: number) => void;
}

export class LineReader {
  readonly #handlers: LineHandlers;
  #parts: Buffer[] = [];
  #bytes = 0;
  #passing: TopLevel | undefined;
  /** Lines that were no JSON-RPC. */
  skipped = 0;

  constructor(handlers: LineHandlers) {
    this.#handlers = handlers;
  }

  push(chunk: Buffer): void {
    let rest = chunk;
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      this.#add(rest.subarray(0, end));
      this.#finish();
      rest = rest.subarray(end + 1);
    }
    this.#add(rest);
  }

  #add(part: Buffer): void {
    if (part.length === 0) return;
    this.#bytes += part.length;
    if (this.#passing === undefined && this.#bytes > this.#handlers.limitBytes()) {
      this.#passing = new TopLevel();
      for (const kept of this.#parts) this.#passing.push(kept);
      this.#parts = [];
    }
    if (this.#passing === undefined) this.#parts.push(part);
    else this.#passing.push(part); // B1
  }

  #finish(): void {
    const [parts, bytes, passing] = [this.#parts, this.#bytes, this.#passing];
    this.#parts = [];
    this.#bytes = 0;
    this.#passing = undefined;
    if (passing !== undefined) {
      if (passing.id === undefined || passing.hasMethod) this.skipped += 1;
      else this.#handlers.onOversize(passing.id, bytes);
      return;
    }
    // A whole line is decoded at once: no character is cut, and bytes that are no UTF-8 become U+FFFD.
    const text = Buffer.concat(parts).toString("utf8").trim();
    if (text === "") return;
    const message = parse(text);
    if (message === undefined)
      this.skipped += 1; // B2
    else this.#handlers.onMessage(message);
  }
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value) || value.jsonrpc !== "2.0") return undefined;
  const named = typeof value.method === "string";
  const answers = typeof value.id === "string" || typeof value.id === "number";
  return named || answers ? value : undefined;
}
