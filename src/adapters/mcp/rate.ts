// Rate: limits how often something may happen. Without it, a server that ends right after its start would be started for ever,
// and one that asks without end would be answered without end.

/** Permits `max` in any `windowMs`. */
export class Rate {
  readonly #now: () => number;
  readonly #max: number;
  readonly #windowMs: number;
  #times: number[] = [];

  /** `now`: milliseconds. Where they go back, what was counted at a later time is forgotten. */
  constructor(now: () => number, max: number, windowMs: number) {
    this.#now = now;
    this.#max = max;
    this.#windowMs = windowMs;
  }

  /** Counts one, or says how many milliseconds from now the next one is permitted. */
  take(): { readonly ok: true } | { readonly ok: false; readonly waitMs: number } {
    const now = this.#now();
    this.#times = this.#times.filter((time) => now - time < this.#windowMs && time <= now);
    const oldest = this.#times[0];
    if (oldest !== undefined && this.#times.length >= this.#max)
      return { ok: false, waitMs: oldest + this.#windowMs - now };
    this.#times.push(now);
    return { ok: true };
  }
}
