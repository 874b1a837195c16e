// Watches the events of a server-sent event stream while the stream passes.
//
//   events-1. One event never takes more memory than the limit. The stream itself may go on for ever.
//   events-2. An event that is not replaced passes unchanged, byte for byte.

export interface EventHandlers {
  readonly limitBytes: () => number;
  /** The data of an event that parsed as JSON. Returns what is handed on instead, or the same value to let it pass. */
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
  let parts: string[] = [];
  let bytes = 0;
  let tail = "";

  /** Cuts whole events off the front of what came in. The boundary between two events may lie across two chunks. */
  function cut(text: string): string {
    let passed = "";
    let rest = text;
    for (;;) {
      const seen = tail + rest;
      const found = /\r\n\r\n|\n\n|\r\r/.exec(seen);
      if (found === null) break;
      const end = found.index + found[0].length - tail.length;
      passed += event(parts.join("") + rest.slice(0, end));
      rest = rest.slice(end);
      [parts, bytes, tail] = [[], 0, ""];
    }
    if (rest !== "") {
      parts.push(rest);
      bytes += Buffer.byteLength(rest);
      tail = (tail + rest).slice(-3);
    }
    return passed;
  }

  function event(text: string): string {
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
    const kept = lines.filter((line) => line !== "" && !line.startsWith("data:"));
    return `${[...kept, `data: ${JSON.stringify(handed)}`].join("\n")}\n\n`;
  }

  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        for (;;) {
          const { done, value } = await reader.read();
          if (done) {
            handlers.onEnd();
            controller.close();
            return;
          }
          const passed = cut(decoder.decode(value, { stream: true }));
          if (bytes > handlers.limitBytes()) {
            handlers.onOversize(bytes); // events-1
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
