// Verify: what must hold just before a claim and needs the world to answer: a stored checkpoint, a connection, and tool
// definitions that are still the ones the model was shown.

import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { LOCAL, type Outcome, rejected } from "../contracts/index.js";
import type { Batch, BatchCall } from "../gate/batch.js";
import { checkpointStored, DURABLE_WITHIN_MS } from "../langgraph/durability.js";
import type { Host } from "../graph/host.js";

/** A call that must not be claimed, and why. */
export interface Refused {
  readonly call: BatchCall;
  readonly outcome: Outcome;
}

/** Refusals that need the world. What fails here was never dispatched, and a yes stays unused. */
export async function beforeClaim(
  host: Host,
  batch: Batch,
  runnable: readonly BatchCall[],
  runtime: LangGraphRunnableConfig,
): Promise<Refused[]> {
  const writes = runnable.filter((call) => call.operation.effect === "write");
  if (writes.length > 0 && !(await checkpointStored(host, runtime))) {
    const message = `this run's state was not stored within ${DURABLE_WITHIN_MS} ms; writes need durability "sync" or "async"; it was not run`;
    const rest = runnable.filter((call) => call.operation.effect === "read");
    const refusals = writes.map((call) => ({ call, outcome: rejected("durability", "host", message) }));
    return [...refusals, ...(await definitionsMoved(host, batch, rest))];
  }
  return definitionsMoved(host, batch, runnable);
}

async function definitionsMoved(host: Host, batch: Batch, calls: readonly BatchCall[]): Promise<Refused[]> {
  const byServer = new Map<string, BatchCall[]>();
  for (const call of calls) {
    const { server } = call.operation;
    if (server !== null && server !== LOCAL) byServer.set(server, [...(byServer.get(server) ?? []), call]);
  }
  const perServer = [...byServer].map(async ([server, own]) => {
    const connected = await host.servers.connect(server);
    if (!connected.ok)
      return own.map((call) => ({ call, outcome: unavailable(`${server} is not available: ${connected.problem}`) }));
    const stale = batch.snapshot?.servers.find((one) => one.name === server)?.status === "stale";
    const changed = host.catalog.due([server]);
    const verifying = own.filter((call) => stale || changed || call.settings?.verify === "each-call");
    // One listing for all of this server's calls in the batch; without one, what it listed last is what counts.
    const verified = verifying.length > 0 ? await host.catalog.verify(server) : undefined;
    const digests = verified?.ok ? verified.digests : host.catalog.digests(server);
    return own.flatMap((call): Refused[] => {
      if (verified?.ok === false && verifying.includes(call)) {
        return [
          { call, outcome: unavailable(`${server} could not be listed again before the call: ${verified.problem}`) },
        ];
      }
      const digest = digests?.get(call.entry?.tool ?? "");
      if (digest === call.entry?.digest) return [];
      const what = digest === undefined ? "no longer lists this tool" : "has changed this tool's definition";
      return [
        { call, outcome: rejected("drift", "drift", `${server} ${what} since it was shown to you; it was not run`) },
      ];
    });
  });
  return (await Promise.all(perServer)).flat();
}

/** A call of which nothing left. */
export function unavailable(message: string): Outcome {
  return { status: "unavailable", reason: "not_sent", by: "host", message };
}
