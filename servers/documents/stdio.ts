// Stdio: a transport that waits for what is running when stdin ends. The SDK's own transport gives it up.
//
//   documents-stdio-1. A call that has arrived is carried out and answered, also when stdin ends or a signal comes
//                      meanwhile.

import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";

export class PatientStdio extends StdioServerTransport {
  readonly #running = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;
  /** Called once, when nothing is running and nothing more is read. **Contract:** does not throw. */
  onended: (() => void) | undefined;

  /** Keeps the transport open until `work` has ended and its answer is written. */
  hold<T>(work: Promise<T>): Promise<T> {
    this.#running.add(work);
    const done = (): void => void this.#running.delete(work);
    work.then(done, done);
    return work;
  }

  override close(): Promise<void> {
    this.#closing ??= this.#close(); // more than one event may say that stdin is over
    return this.#closing;
  }

  async #close(): Promise<void> {
    process.stdin.pause(); // a signal: what has not been read yet is not read any more
    do {
      await Promise.allSettled(this.#running);
      await new Promise(setImmediate); // what was read last reaches its handler, what was answered last is written
    } while (this.#running.size > 0);
    await super.close();
    this.onended?.();
  }
}
