// Forget: what a thread was about goes from every store: results, checkpoints, and in the ledger all but digests.
//
//   forget-thread-1. The thread is taken like by a run, so that nothing runs in it meanwhile. Results and checkpoints go
//                    before the ledger says that it is done: after a crash in between it is forgotten again.
//   forget-thread-2. A checkpointer of our own forgets the whole thread when it is told to delete it (`deleteThread`).
//   retention-1. After `retention.days` without use a thread is forgotten; never one that waits for an answer or in which
//                something is unknown or in hand. Only threads of the scopes that this host speaks for.

import type { BaseCheckpointSaver } from "@langchain/langgraph";
import {
  type Config,
  checkedThreadId,
  isOpen,
  noThread,
  placesOf,
  scopeOfKey,
  ToolgateError,
  threadKey,
  threadOfKey,
} from "../contracts/index.js";
import { isOurSaver, ourSaver } from "../langgraph/keyed-saver.js";
import { overriding } from "../langgraph/overriding.js";
import { type LeasePorts, takeThread } from "../langgraph/thread-lease.js";
import type { Ledger } from "../ledger/port.js";
import type { ResultStore } from "../observation/index.js";

export interface ForgetPorts extends LeasePorts {
  readonly ledger: Ledger;
  readonly results: Pick<ResultStore, "forget">;
  readonly config: Config;
}

export interface Forget {
  /** Throws `not_found`, `already_running`, `unsettled` and `store_failed`. */
  thread(threadId: string, scope: string): Promise<void>;
  /** The same, of a thread that is known to be there. */
  at(key: string, scope: string): Promise<void>;
}

export function forgetter(ports: ForgetPorts, saver: Pick<BaseCheckpointSaver, "deleteThread">): Forget {
  const keyed = isOurSaver(saver);
  const at = (key: string, scope: string) =>
    forgetPlace(ports, { key, scope }, () => saver.deleteThread(keyed ? key : threadOfKey(key)));
  return {
    at,
    thread: async (threadId, scope) => {
      // Under a checkpointer that is not ours a thread stands under its bare id, and belongs to whoever the ledger says.
      const places = keyed ? placesOf(scope, checkedThreadId(threadId)) : [checkedThreadId(threadId)];
      const known = await ports.ledger.threads();
      const own = known.filter(({ threadId: key, scope: of }) => of === scope && places.includes(key));
      if (own.length === 0) throw noThread(threadId);
      for (const { threadId: key } of own) await at(key, scope);
    },
  };
}

/** forget-thread-1 */
async function forgetPlace(
  ports: ForgetPorts,
  { key, scope }: { readonly key: string; readonly scope: string },
  deleteCheckpoints: () => Promise<void>,
): Promise<void> {
  const lease = await takeThread(ports, { threadId: key, scope });
  try {
    const rows = await ports.ledger.operations(key);
    if (rows.some(isOpen)) throw unsettled(key);
    await ports.results.forget(key);
    await deleteCheckpoints();
    const result = await ports.ledger.forget(key, lease.owner);
    if (result.kind === "unsettled") throw unsettled(key);
  } finally {
    await lease.close();
  }
}

function unsettled(key: string): ToolgateError {
  const threadId = threadOfKey(key);
  return new ToolgateError(
    "unsettled",
    `thread \`${threadId}\` has a write whose outcome is unknown, or a call in hand: its record is still needed`,
    "settle it first (`toolgate unknowns`, `toolgate resolve`), then forget the thread",
    { data: { threadId } },
  );
}

/** The same checkpointer; deleting a thread in it forgets the thread. (forget-thread-2) */
export function forgettingSaver(saver: BaseCheckpointSaver, scope: string, forget: Forget): BaseCheckpointSaver {
  const deleteThread = (key: string) => {
    const named = threadOfKey(key) === key ? threadKey(scope, key) : key;
    return forget.thread(threadOfKey(named), scopeOfKey(named));
  };
  return ourSaver(overriding(saver, { deleteThread }));
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Makes a pass now and every hour. `end` resolves when none is under way any more. */
export function startRetention(
  { config, every }: Pick<ForgetPorts, "config" | "every">,
  pass: (stopped: () => boolean) => Promise<void>,
): { end(): Promise<void> } {
  if (config.retention === undefined) return { end: async () => undefined };
  let over = false;
  let running = Promise.resolve();
  const go = () => {
    // A store that fails is told by the runs that use it; what was not forgotten is looked at again by the next pass.
    running = running.then(() => (over ? undefined : pass(() => over))).catch(() => undefined);
  };
  go();
  const stop = every(HOUR_MS, go);
  return {
    end: async () => {
      over = true;
      stop();
      await running;
    },
  };
}

/** Forgets what is over. A thread that cannot be forgotten now is left for the next time. (retention-1) */
export async function forgetWhatIsOver(
  { ledger, config }: ForgetPorts,
  forget: Forget,
  speaksFor: (scope: string) => boolean,
  stopped: () => boolean,
): Promise<void> {
  const days = config.retention?.days;
  if (days === undefined) return;
  for (const { threadId: key, scope } of await ledger.threads({ idleMs: days * DAY_MS })) {
    if (stopped()) return;
    if (!speaksFor(scope)) continue;
    const [rows, open] = [await ledger.operations(key), await ledger.openRequests(key)];
    if (open.length > 0 || rows.some(isOpen)) continue;
    await forget.at(key, scope).catch(() => undefined);
  }
}
