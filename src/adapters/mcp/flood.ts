// Flood: how much a server may ask of this process, and how many answers may wait for it to read them.
//
// A server may send requests of its own: pings, and whatever else it likes. Each is answered. Without a bound, one that asks
// for ever and never reads fills the memory with answers. It is told apart by counting; the connection to it is then ended.
//
//   flood-1. More than `REQUESTS` requests within a second end the connection.
//   flood-2. More than `ANSWERS` answers that wait to go out end the connection.
//   flood-3. What comes after that is not looked at.

import { Rate } from "./rate.js";

/** Requests that a server may send within one second. */
const REQUESTS = 100;
const WINDOW_MS = 1_000;
/** Answers to a server's requests that may wait to be written, or for their HTTP response. */
const ANSWERS = 100;

export class Flood {
  readonly #requests: Rate;
  readonly #onFlood: (reason: string) => void;
  #waiting = 0;
  #over = false;

  /** `now`: milliseconds that never go back. `onFlood` is told once, in words for a person. */
  constructor(now: () => number, onFlood: (reason: string) => void) {
    this.#requests = new Rate(now, REQUESTS, WINDOW_MS);
    this.#onFlood = onFlood;
  }

  /** Whether anything that comes in is still looked at (flood-3). */
  get over(): boolean {
    return this.#over;
  }

  /** Counts one request of the server. False where it is one too many (flood-1). */
  asked(): boolean {
    if (!this.#requests.take().ok) this.#end(`it sent more than ${REQUESTS} requests within a second`);
    return !this.#over;
  }

  /** Counts one answer until `sent` is settled. (flood-2) */
  answering(sent: Promise<unknown>): void {
    this.#waiting += 1;
    if (this.#waiting > ANSWERS) this.#end(`it does not take the answers to its requests: ${ANSWERS} are waiting`);
    const done = () => {
      this.#waiting -= 1;
    };
    sent.then(done, done);
  }

  #end(reason: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#onFlood(reason);
  }
}
