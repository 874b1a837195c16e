// Mutants: hosts that are broken on purpose, each in one way that people build by accident. The simulator must find each out.

import type { Call, CallRequest, ServerConnection, Servers } from "../../src/contracts/mcp-port.js";
import type { ClaimBatch, ClaimResult, Ledger } from "../../src/ledger/port.js";
import type { ViolationKind } from "./facts.js";
import type { Broken } from "./run.js";

export interface Mutant {
  readonly name: string;
  readonly broken: Broken;
  /** How it is found out. */
  readonly kinds: readonly ViolationKind[];
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: "a ledger that sends whatever it is asked to begin",
    broken: {
      ledger: (ledger) => changed(ledger, { begin: () => () => Promise.resolve({ kind: "dispatching", sentAt: 0 }) }),
    },
    kinds: ["not dispatching at the send"],
  },
  {
    name: "a claim that looks at no state",
    broken: {
      ledger: (ledger) =>
        changed(ledger, { claim: claimAll, begin: () => () => Promise.resolve({ kind: "dispatching", sentAt: 0 }) }),
    },
    kinds: ["double send", "not dispatching at the send"],
  },
  {
    name: "dispatching written when the answer is in",
    broken: { ledger: beginningLate },
    kinds: ["not dispatching at the send"],
  },
  {
    name: "a claim without a lifetime of verdicts",
    broken: { ledger: (ledger) => changed(ledger, { claim: (right) => (batch) => right({ ...batch, ttlMs: 1e12 }) }) },
    kinds: ["approval expired at the claim"],
  },
  {
    name: "a ledger that takes what it does not know for done",
    broken: { ledger: (ledger) => changed(ledger, { settle: settleAsDone }) },
    kinds: ["wrong outcome", "false ok"],
  },
  {
    name: "a host that counts the leases of its own machine on a clock that can be set",
    broken: { life: (right) => (right === "here" ? "unknown" : right) },
    kinds: ["not dispatching at the send", "send after a person's word"],
  },
  {
    name: "a client that sends every request twice",
    broken: { servers: (servers) => resending(servers, () => true) },
    kinds: ["double send"],
  },
  {
    name: "a client that sends again when the connection is lost",
    broken: { servers: (servers) => resending(servers, (how) => how === "closed") },
    kinds: ["double send"],
  },
];

type Methods = { [M in keyof Ledger]?: (right: Ledger[M]) => Ledger[M] };

function changed(ledger: Ledger, methods: Methods): Ledger {
  const replaced = Object.entries(methods).map(([name, change]) => {
    const right = ledger[name as keyof Ledger] as unknown as (...args: never[]) => unknown;
    return [name, (change as (right: unknown) => unknown)(right)];
  });
  return { ...ledger, ...Object.fromEntries(replaced) };
}

function claimAll(right: Ledger["claim"]): Ledger["claim"] {
  return async (batch: ClaimBatch): Promise<ClaimResult> => {
    const result = await right(batch);
    if (result.kind === "ask") return result;
    const claims = result.claims.map((claim) =>
      claim.kind === "claimed"
        ? claim
        : { kind: "claimed" as const, operationId: claim.operationId, fence: 1, attempt: 1 },
    );
    return { kind: "claims", claims };
  };
}

function beginningLate(ledger: Ledger): Ledger {
  const begun = new Map<string, readonly [fence: number, actsMs: number]>();
  return changed(ledger, {
    begin: () => async (operationId, fence, actsMs) => {
      begun.set(operationId, [fence, actsMs]);
      return { kind: "dispatching", sentAt: 0 };
    },
    settle: (right) => async (settlement) => {
      const { operationId } = settlement;
      const given = begun.get(operationId);
      if (given) await ledger.begin(operationId, ...given);
      return right(settlement);
    },
  });
}

function settleAsDone(right: Ledger["settle"]): Ledger["settle"] {
  return (settlement) => {
    const { outcome } = settlement;
    if (outcome.status !== "result_unknown") return right(settlement);
    return right({ ...settlement, outcome: { ...outcome, status: "ok", reason: "success" } });
  };
}

function resending(servers: Servers, when: (how: string) => boolean): Servers {
  const wrap = (connection: ServerConnection): ServerConnection =>
    Object.create(connection, { call: { value: (request: CallRequest) => again(servers, connection, request, when) } });
  return {
    ...servers,
    connection: (name) => {
      const right = servers.connection(name);
      return right && wrap(right);
    },
    connect: async (name) => {
      const result = await servers.connect(name);
      return result.ok ? { ok: true, connection: wrap(result.connection) } : result;
    },
  };
}

function again(
  servers: Servers,
  connection: ServerConnection,
  request: CallRequest,
  when: (how: string) => boolean,
): Call {
  const first = connection.call(request);
  const second = first.evidence.then(async (evidence) => {
    if (!when(evidence.how)) return first;
    const result = await servers.connect(connection.name);
    return result.ok ? result.connection.call(request) : first;
  });
  return { evidence: second.then(({ evidence }) => evidence), late: second.then(({ late }) => late) };
}
