// Turns: a server that writes without end gets its share of this process, and not the others' too.
//
// Node reads up to two megabytes of a pipe before it looks at anything else. As thousands of short lines that is seconds of
// work, in which no timer fires and no other server is heard. So what comes in is worked off in small pieces, and when a turn
// is over the rest waits until everybody else had theirs. Meanwhile nothing more is read, and the server waits.
//
//   turns-1. One server's input takes at most a turn of `TURN_MS` and one piece or message more before others are heard.

const TURN_MS = 10;
const PIECE_BYTES = 4_096;

/** Says when a turn is over. `steady`: milliseconds that never go back. */
export class Turn {
  readonly #steady: () => number;
  #began: number;

  constructor(steady: () => number = () => performance.now()) {
    this.#steady = steady;
    this.#began = steady();
  }

  get isOver(): boolean {
    return this.#steady() - this.#began >= TURN_MS;
  }

  /** Lets everybody else have a turn, if this one is over. */
  async pass(): Promise<void> {
    if (!this.isOver) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#began = this.#steady();
  }
}

/** Bytes in pieces that take little time each. */
export function* piecesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let from = 0; from < bytes.byteLength; from += PIECE_BYTES) yield bytes.subarray(from, from + PIECE_BYTES);
}

export interface Intake {
  /** Works off the next piece. **Contract:** must not throw. */
  readonly take: (piece: Uint8Array) => void;
  /** Reads no more for now, and reads again. */
  readonly pause: () => void;
  readonly resume: () => void;
}

/** Works off what a stream brings, turn by turn and in its order. */
export class Intakes {
  readonly #to: Intake;
  readonly #pieces: Uint8Array[] = [];
  #working: Promise<void> | undefined;

  constructor(to: Intake) {
    this.#to = to;
  }

  push(chunk: Uint8Array): void {
    this.#pieces.push(...piecesOf(chunk));
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined;
    });
  }

  /** Works off at once what was read already: the stream has ended. */
  flush(): void {
    for (const piece of this.#pieces.splice(0)) this.#to.take(piece);
  }

  async #work(): Promise<void> {
    const turn = new Turn();
    let paused = false;
    for (let piece = this.#pieces.shift(); piece !== undefined; piece = this.#pieces.shift()) {
      this.#to.take(piece);
      if (this.#pieces.length === 0 || !turn.isOver) continue;
      if (!paused) this.#to.pause();
      paused = true;
      await turn.pass();
    }
    if (paused) this.#to.resume();
  }
}
