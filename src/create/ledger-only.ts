// Records without the agent: what the ledger holds, read without LangGraph, the MCP client or a model, because loading those
// takes longer than everything that is read.
//
//   records-1. It says the same as the records of `createToolgate` over the same store.
//   records-2. A thread's checkpoints are read only where a question of the thread is open. What its head shows is what
//              `graph.getState` says; the graph itself is asked only where a step of it was stored in part.

import { steadyMs } from "../adapters/process/clock.js";
import { createSchemaChecker } from "../adapters/schema/checker.js";
import { GRANT_START } from "../approval/index.js";
import { loadSnapshot } from "../catalog/seal-snapshot.js";
import type { Config, Digest, OperationView } from "../contracts/index.js";
import type { ShownCall, ShownCalls } from "../gate/verdicts.js";
import { openRedactor } from "../observation/redact.js";
import { type Records, recordsOf } from "../report/records.js";
import { newId, secretOf } from "./chance.js";
import { configure } from "./configure.js";
import { destinationsOf } from "./destinations.js";
import { once, takeEvery } from "./once.js";
import { createOwners } from "./owners.js";
import { guardsOf, type LedgerStore, openLedger } from "./stores.js";

export interface OpenRecords {
  readonly records: Records;
  /** Takes the configuration's secrets out of text. */
  readonly redact: (text: string) => string;
  /** Idempotent. */
  close(): Promise<void>;
}

/** Opens the ledger of a configuration. Throws what `createToolgate` throws. */
export async function openRecords(given: Config): Promise<OpenRecords> {
  const { config, policy, settings } = await configure({ config: given });
  const owners = createOwners(undefined);
  const deps = { now: Date.now, steady: steadyMs, liveness: owners.liveness, ...guardsOf(config) };
  const store = await openLedger(config, deps);
  const { ledger } = store;
  const checker = createSchemaChecker();
  const ports = {
    config,
    ledger,
    catalog: { snapshot: async (id: Digest) => loadSnapshot(await ledger.snapshot(id)) },
    checker,
    policy,
    settings,
    destinationOf: destinationsOf(config),
    secret: secretOf(config),
    now: Date.now,
    newId,
  };
  return {
    records: recordsOf(ports, shownIn(config, store)),
    redact: openRedactor([...config.secrets, ...config.literalSecrets], [GRANT_START]).redact,
    close: once(() =>
      takeEvery([() => checker.close(), () => ledger.close(), () => store.close(), () => owners.end()]),
    ),
  };
}

/** What the heads of threads show. (records-2) */
export function shownIn(config: Config, store: Pick<LedgerStore, "checkpoints">): ShownCalls {
  const checkpoints = once(store.checkpoints);
  return async (key, scope) => {
    const saver = await checkpoints();
    const head = await saver.getTuple({ configurable: { thread_id: key } });
    if (head === undefined) return undefined;
    if (head.pendingWrites?.some(([, channel]) => channel === "operations")) return askGraph(config, key, scope);
    return (head.checkpoint.channel_values["operations"] as OperationView[] | undefined) ?? [];
  };
}

/** The run ended between the writes of a step and its checkpoint: only LangGraph knows which of them count. */
async function askGraph(config: Config, key: string, scope: string): Promise<readonly ShownCall[] | undefined> {
  const { createToolgate, shownBy } = await import("./toolgate.js");
  const toolgate = await createToolgate({ config });
  try {
    return await shownBy(toolgate.graph)(key, scope);
  } finally {
    await toolgate.close();
  }
}
