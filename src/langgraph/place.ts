// Place: which thread of the stores a run, or a look at a thread, is about. A caller names a thread by its id; whose it is
// depends on the caller's scope.
//
//   place-1. Under a checkpointer of our own a thread stands under its key: another scope's thread of the same id is another
//            thread. Under any other checkpointer it stands under its bare id, the ledger's record says whose it is, and for
//            everybody else it is not there (`not_found`). A thread that the ledger does not know is nobody's yet.
//   place-2. The scope is the word of the host's own process: nothing that a client can write among the configurable values
//            chooses it.

import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { checkedThreadId, noThread, threadKey } from "../contracts/index.js";
import type { Ledger } from "../ledger/port.js";
import { isOurSaver } from "./keyed-saver.js";

export interface Place {
  /** As the caller names it. */
  readonly threadId: string;
  readonly scope: string;
  /** As ledger and results know it. */
  readonly key: string;
  /** The checkpointer is to be asked by the key. One that another graph lends is asked as that graph asks it. */
  readonly keyed: boolean;
}

export type Options = Partial<LangGraphRunnableConfig>;

/** Where a scope stands that the host speaks for. A symbol: no client can send one. (place-2) */
const SPOKEN = Symbol("the scope that the host speaks for");

/** A configuration for a look at a thread of this scope, whoever the caller is. */
export function spokenFor(threadId: string, scope: string): { configurable: { thread_id: string } } {
  return { configurable: { thread_id: threadId, [SPOKEN]: scope } as { thread_id: string } };
}

/** The place that a configuration names. Throws `thread_invalid` and `config_invalid`. (place-1) */
export function placeIn(
  config: Options,
  about: {
    /** The graph's own checkpointer. */
    readonly checkpointer: unknown;
    /** The run that this one is inside of, where that is a run of ours. */
    readonly outer: Place | undefined;
    /** The graph is part of another one, which lends it its checkpointer. */
    readonly inside: boolean;
    readonly scopeOf: (config: LangGraphRunnableConfig) => string;
  },
): Place {
  const configurable = (config.configurable ?? {}) as Readonly<Record<string | symbol, unknown>>;
  const threadId = checkedThreadId(configurable["thread_id"]);
  const scope = (configurable[SPOKEN] as string | undefined) ?? about.scopeOf(config as LangGraphRunnableConfig);
  const { inside, outer } = about;
  const keyed = !inside && isOurSaver(about.checkpointer);
  const inKey = keyed || (inside && outer?.scope === scope && outer.key !== outer.threadId);
  return { threadId, scope, key: inKey ? threadKey(scope, threadId) : threadId, keyed };
}

/** Throws `not_found` where a thread that stands under its bare id is another scope's. */
export async function mustBeOurs(
  ledger: Pick<Ledger, "scopeOf">,
  { threadId, scope, key, keyed }: Place,
): Promise<void> {
  if (keyed) return; // nobody else's key is this one
  const of = await ledger.scopeOf(key);
  if (of !== undefined && of !== scope) throw noThread(threadId);
}

/** The same for whoever is about to write in it: a thread that is nobody's yet is this scope's from now on. */
export async function takeForScope(
  ledger: Pick<Ledger, "adopt" | "scopeOf">,
  { threadId, scope, key, keyed }: Place,
): Promise<void> {
  if (keyed) return;
  const of = (await ledger.scopeOf(key)) ?? (await ledger.adopt(key, scope));
  if (of !== scope) throw noThread(threadId);
}
