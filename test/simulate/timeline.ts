// Timeline: virtual time. Everything that takes time in a run is an event here; between two events the program runs
// until
// it waits for the next one.
//
//   timeline-1. Events happen in the order of their times, and of their making where the times are equal.
//   timeline-2. No event begins before everything the last one set going has come to rest.
//   timeline-3. A run ends: nothing left to happen, or more events than a run can need, is a hang.

export interface Ticket {
  cancel(): void;
}

export interface Timeline {
  /** Milliseconds since the run began; may have a fraction. */
  readonly now: number;
  /** Makes something happen so many milliseconds from now. */
  after(ms: number, happen: () => void | Promise<void>): Ticket;
  /** Lets events happen until `main` is settled. */
  run<T>(main: Promise<T>): Promise<T>;
}

/** Nothing is left that could bring the run to its end. */
export class Hang extends Error {
  override readonly name = "Hang";
}

interface Event {
  readonly at: number;
  readonly order: number;
  happen: (() => void | Promise<void>) | undefined;
}

/** `limit`: events after which a run counts as one that does not end. */
export function createTimeline(limit = 20_000): Timeline {
  const heap: Event[] = [];
  let now = 0;
  let made = 0;
  return {
    get now() {
      return now;
    },
    after(ms, happen) {
      made += 1;
      const event: Event = { at: now + Math.max(0, ms), order: made, happen };
      push(heap, event);
      return {
        cancel: () => {
          event.happen = undefined;
        },
      };
    },
    async run(main) {
      let ended = false;
      const end = () => {
        ended = true;
      };
      main.then(end, end);
      for (let steps = 0; ; steps++) {
        await rest(); // timeline-2
        if (ended) return main;
        let event = pop(heap);
        while (event && event.happen === undefined) event = pop(heap);
        if (event === undefined) throw new Hang("nothing is left to happen, and the run has not ended"); // timeline-3
        if (steps > limit) throw new Hang(`the run has not ended after ${limit} events`);
        now = Math.max(now, event.at);
        await event.happen?.();
      }
    },
  };
}

/** Resolves when no promise is left that can go on by itself. */
function rest(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function before(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order); // timeline-1
}

function push(heap: Event[], event: Event): void {
  let at = heap.push(event) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!before(event, heap[parent] as Event)) break;
    heap[at] = heap[parent] as Event;
    at = parent;
  }
  heap[at] = event;
}

function pop(heap: Event[]): Event | undefined {
  const first = heap[0];
  const last = heap.pop();
  if (first === undefined || last === undefined || heap.length === 0) return first;
  let at = 0;
  for (;;) {
    const left = 2 * at + 1;
    if (left >= heap.length) break;
    const right = left + 1;
    const child = right < heap.length && before(heap[right] as Event, heap[left] as Event) ? right : left;
    if (!before(heap[child] as Event, last)) break;
    heap[at] = heap[child] as Event;
    at = child;
  }
  heap[at] = last;
  return first;
}
