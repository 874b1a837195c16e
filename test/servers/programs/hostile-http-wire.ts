// The wire of one HTTP response: frames messages as SSE events or as a JSON body, and can break off anywhere.

import type { ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { endProcess, type Wire } from "./hostile-wire.js";

export interface HttpWire extends Wire {
  status(status: number, headers: Record<string, string>, body: string): Promise<void>;
  drop(headers: boolean): Promise<void>;
  /** Ends the response; a JSON body is complete now, a stream closes. */
  end(): void;
  /** Whether this side cut the connection on purpose. */
  cut(): boolean;
}

/** `places` are what `{{name}}` stands for in the headers and body of a status. */
export function httpWire(
  response: ServerResponse,
  options: { format: "json" | "sse"; headers: Record<string, string>; places: Record<string, string> },
): HttpWire {
  const { format, headers, places } = options;
  let isCut = false;

  function head(): void {
    if (response.headersSent) return;
    const type = format === "sse" ? "text/event-stream" : "application/json";
    response.writeHead(200, { ...headers, "content-type": type, "cache-control": "no-store" });
  }

  function out(bytes: string | Buffer): Promise<void> {
    if (response.destroyed || response.writableEnded) return Promise.resolve();
    head();
    return new Promise((resolve) => response.write(bytes, () => resolve()));
  }

  const frame = (message: string | Buffer): Buffer =>
    format === "json"
      ? Buffer.from(message)
      : Buffer.concat([Buffer.from("event: message\ndata: "), Buffer.from(message), Buffer.from("\n\n")]);
  const filled = (text: string): string =>
    text.replaceAll(/\{\{(\w+)\}\}/g, (whole, name: string) => places[name] ?? whole);

  return {
    write: (message) => out(frame(message)),
    writeSplit: async (message, at, ms) => {
      await out(message.subarray(0, at));
      await delay(ms);
      await out(message.subarray(at));
    },
    die: endProcess,
    writeHalf: (message) => {
      const bytes = frame(message);
      return out(bytes.subarray(0, bytes.length / 2));
    },
    noise: (text) => out(format === "sse" ? `data: ${text}\n\n` : `${text}\n`),
    status: (status, more, body) => {
      const all = Object.entries({ ...headers, ...more }).map(([name, value]) => [name, filled(value)] as const);
      response.writeHead(status, Object.fromEntries(all));
      return new Promise((resolve) => response.end(filled(body), () => resolve()));
    },
    drop: async (withHeaders) => {
      isCut = true;
      if (withHeaders && !response.headersSent) {
        head();
        response.flushHeaders();
        await delay(20); // lets the headers leave before the connection is cut
      }
      response.destroy();
    },
    end: () => {
      if (!response.writableEnded && !response.destroyed) response.end();
    },
    cut: () => isCut,
  };
}
