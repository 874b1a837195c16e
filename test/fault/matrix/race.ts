// A host in a race: in each round it is told a thread, prepares, says that it stands at the start, and is let go together
// with others. Its answer is made before the start, so that the race is for the thread alone.

import type { Action, Words } from "./plan.js";
import { say, told } from "./points.js";

export interface Racer {
  /** Resolves with the code of the error, or with `""`. */
  readonly attempt: (action: Action, threadId: string) => Promise<string>;
  /** Says yes to what is asked now, when it is called; resolves like `attempt`. */
  readonly answer: (threadId: string) => Promise<() => Promise<string>>;
  readonly words: (threadId: string) => Promise<Words>;
}

/** Runs actions on each thread it is told, then the race. Ends when it is told none. */
export async function race(actions: readonly Action[], { attempt, answer, words }: Racer): Promise<void> {
  say({ at: "ready" });
  for (let next = await told(); next.threadId !== undefined; next = await told()) {
    const { threadId, runners = 1 } = next;
    if (next.prepare) for (const action of actions) await attempt(action, threadId);
    const answers = await Promise.all(Array.from({ length: runners }, () => answer(threadId)));
    say({ at: "ready" });
    await told();
    const errors = await Promise.all(answers.map((run) => run()));
    say({ at: "raced", errors });
    await told();
    say({ at: "done", words: await words(threadId) });
  }
}
