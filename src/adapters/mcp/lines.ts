// Cuts the bytes of a server's stdout into JSON-RPC messages.
//
//   lines-1. A line above the limit is never held in memory: it is scanned for its id while it passes.
//   lines-2. A line that is no JSON-RPC is skipped and counted. It does not end the connection, and nobody receives it.

import { isObject } from "../../contracts/index.js";
import { Gathered } from "./gathered.js";
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
  #line = new Gathered();
  #bytes = 0;
  /** Scans the present line when it is above the limit. */
  #scan: TopLevel | undefined;
  /** How many lines were no JSON-RPC. */
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
    if (this.#scan === undefined && this.#bytes > this.#handlers.limitBytes()) {
      this.#scan = new TopLevel();
      this.#scan.push(this.#line.whole());
      this.#line = new Gathered();
    }
    if (this.#scan === undefined) this.#line.add(part);
    else this.#scan.push(part); // lines-1
  }

  #finish(): void {
    const [line, bytes, scan] = [this.#line, this.#bytes, this.#scan];
    if (bytes === 0) return;
    this.#line = new Gathered();
    this.#bytes = 0;
    this.#scan = undefined;
    if (scan !== undefined) {
      if (scan.id === undefined || scan.hasMethod) this.skipped += 1;
      else this.#handlers.onOversize(scan.id, bytes);
      return;
    }
    // A whole line is decoded at once: no character is cut, and bytes that are no UTF-8 become U+FFFD.
    const text = line.whole().toString("utf8").trim();
    if (text === "") return;
    const message = parse(text);
    if (message === undefined)
      this.skipped += 1; // lines-2
    else this.#handlers.onMessage(message);
  }
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  if (!text.startsWith("{")) return undefined; // noise, told apart without the cost of an error
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
