// Ledger: the real rules over the memory store, one for all hosts, each coming to it through its own port, with its own
// clock and its own eyes. After every call that can change something the rows are looked at.
//
// Hosts of one machine share a store that has no clock: whoever asks brings the time of its own wall clock, which may be off,
// and the machine's steady clock, which is everybody's. A store of hosts on several machines is a database with its own clock.

import { createMemoryLedger } from "../../src/adapters/memory/ledger.js";
import type { OperationRow, Owner } from "../../src/contracts/index.js";
import { outcomeOf } from "../../src/contracts/index.js";
import type { ClaimBatch, ClaimResult, Ledger, OwnerLiveness, Settlement } from "../../src/ledger/port.js";
import { violate } from "./facts.js";
import { type Process, START, type World } from "./world.js";

export type Liveness = (eyes: Process, owner: Owner, key: string) => ReturnType<OwnerLiveness>;

/** Puts a broken ledger in the place of the right one, to see that it is found out. */
export type Breaks = (ledger: Ledger) => Ledger;

export interface SharedLedger {
  /** The ledger as a host gets it. */
  of(process: Process): Ledger;
  /** Looks at a row without being anybody. */
  row(operationId: string): Promise<OperationRow | undefined>;
  rows(threadId: string): Promise<OperationRow[]>;
}

const CHANGES = new Set([
  "enter",
  "ask",
  "answer",
  "claim",
  "begin",
  "settle",
  "settleLate",
  "readBack",
  "refuse",
  "sweep",
  "unknowns",
  "resolve",
]);

export function createSharedLedger(
  world: World,
  liveness: Liveness,
  threads: () => readonly string[],
  breaks: Breaks = (ledger) => ledger,
): SharedLedger {
  let eyes: Process | undefined;
  let last = 0;
  const isDatabase = new Set(world.plan.hosts.map(({ machine }) => machine)).size > 1;
  const real = createMemoryLedger({
    now: () => {
      last = isDatabase ? START + Math.floor(world.timeline.now) : (eyes?.now() ?? last);
      return last;
    },
    steady: () => eyes?.steady() ?? 0,
    liveness: (owner, key) => (eyes ? liveness(eyes, owner, key) : "unknown"),
    seals: { secret: "a secret that outlives every process of the world", previous: [] },
  });
  const ledger = breaks(real);
  const unseen = async <T>(look: () => Promise<T>): Promise<T> => {
    eyes = undefined;
    return look();
  };
  const rows = (threadId: string) => unseen(() => real.operations(threadId));

  async function look(who: string) {
    for (const threadId of threads())
      for (const row of await rows(threadId)) {
        const before = world.facts.rows.get(row.operation.id);
        compare(world, who, before, row);
        world.facts.rows.set(row.operation.id, row);
      }
  }

  return {
    row: (operationId) => unseen(() => real.row(operationId)),
    rows,
    of: (process) =>
      new Proxy(ledger, {
        get(_, property) {
          const method = String(property);
          return (...args: unknown[]) =>
            process.port(`ledger.${method}`, async () => {
              eyes = process;
              const call = ledger[method as keyof Ledger] as (...given: unknown[]) => Promise<unknown>;
              const result = await call(...args);
              await after(world, process.name, method, args, result);
              if (CHANGES.has(method)) await look(process.name);
              return result;
            });
        },
      }),
  };
}

const RANK = { proposed: 0, claimed: 1, dispatching: 2, settled: 3 } as const;

function compare(world: World, who: string, before: OperationRow | undefined, row: OperationRow): void {
  const { history, facts } = world;
  const stands = standing(row);
  if (before !== undefined && standing(before) === stands && before.fence === row.fence) return;
  const name = history.name("op", row.operation.id);
  if (before === undefined || standing(before) !== stands)
    history.say(who, `${name} (${row.operation.alias}) is ${stands}`);
  if (before === undefined) return;
  const wrong = (what: string) => violate(facts, "state went back", `${name}: ${what}`);
  if (row.fence < before.fence) wrong(`fence ${before.fence} became ${row.fence}`);
  if (before.state === "settled" && before.outcome?.status !== "result_unknown") {
    const again = row.state === "claimed" && row.fence > before.fence && before.outcome?.status === "unavailable";
    const harmless =
      row.operation.effect === "read" || !world.facts.sends.some((send) => send.operationId === row.operation.id);
    const turnedIn = before.outcome?.status === "unavailable" && row.state === "settled" && !before.sent;
    if (standing(before) !== stands && !(again && harmless) && !turnedIn) wrong(`${standing(before)} became ${stands}`);
    return;
  }
  if (RANK[row.state] >= RANK[before.state]) return;
  const read = row.operation.effect === "read" && row.state === "claimed" && row.fence > before.fence;
  if (!read) wrong(`${standing(before)} became ${stands}`);
}

function standing(row: OperationRow): string {
  const { state } = row;
  const outcome = outcomeOf(row);
  return state === "settled" ? `settled: ${outcome?.status} (${outcome?.reason})` : state;
}

/** What the answer to a call tells of lifetimes and outcomes. */
async function after(world: World, who: string, method: string, args: unknown[], result: unknown): Promise<void> {
  const { facts, history, timeline } = world;
  switch (method) {
    case "answer": {
      for (const [index, given] of (args[0] as { verdict: { operationId: string; type: string } }[]).entries()) {
        const { kind } = (result as { kind: string }[])[index] as { kind: string };
        const { operationId, type } = given.verdict;
        const row = facts.rows.get(operationId);
        if (kind === "stored" && row) facts.lastVerdict.set(row.operation.proposalId, timeline.now);
        history.say(who, `${type} of ${history.name("op", operationId)}: ${kind}`);
      }
      return;
    }
    case "claim":
      return claimed(world, who, args[0] as ClaimBatch, result as ClaimResult);
    case "settle":
    case "settleLate":
      return settled(world, who, args[0] as Settlement, result === true);
    case "begin":
    case "resolve":
    case "enter":
      history.say(who, `${method}: ${(result as { kind: string }).kind}`);
      return;
  }
}

function claimed({ facts, history, plan, timeline }: World, who: string, batch: ClaimBatch, result: ClaimResult): void {
  if (result.kind === "ask") {
    history.say(who, "the claim asks");
    return;
  }
  for (const claim of result.claims) {
    if (claim.kind === "busy") history.say(who, `${history.name("op", claim.operationId)} is busy`);
    if (claim.kind !== "claimed" || facts.clocksOff) continue;
    const { operation } = batch.operations.find(
      (one) => one.operation.id === claim.operationId,
    ) as ClaimBatch["operations"][0];
    const asked = plan.tools.some((tool) => tool.name === operation.tool && tool.decision === "ask");
    const verdictAt = facts.lastVerdict.get(batch.proposalId);
    if (asked && (verdictAt === undefined || timeline.now - verdictAt > 60_001)) {
      const age =
        verdictAt === undefined ? "no verdict" : `a verdict ${Math.round((timeline.now - verdictAt) / 1_000)} s old`;
      violate(facts, "approval expired at the claim", `${history.name("op", operation.id)} was claimed on ${age}`);
    }
  }
}

function settled({ facts, history }: World, who: string, settlement: Settlement, taken: boolean): void {
  const { operationId, outcome } = settlement;
  const name = history.name("op", operationId);
  if (!taken) {
    history.say(who, `the outcome of ${name} is not taken: ${outcome.status}`);
    return;
  }
  const told = facts.told.get(operationId);
  if (told?.includes(outcome.status)) return;
  const row = facts.rows.get(operationId);
  if (row?.operation.effect !== "write") return;
  const nothingSent = outcome.reason === "halted" || outcome.reason === "not_sent";
  if (told === undefined && nothingSent && !settlement.sent) return;
  const kind = outcome.status === "result_unknown" ? "wrongly unknown" : "wrong outcome";
  violate(
    facts,
    kind,
    `${name} was told ${told?.join(", then ") ?? "nothing"} and settled ${outcome.status} (${outcome.reason})`,
  );
}
