// Loaded: the parts that one SELECT brought, as tables in memory.

import { gunzipSync } from "node:zlib";
import type { OperationRow, Owner, Proposal, SnapshotBody } from "../../contracts/index.js";
import type { Moment } from "../../ledger/clock.js";
import type { ModelRequestRecord } from "../../ledger/port.js";
import { factsOf } from "../../ledger/seals.js";
import type { LeaseEnd, Question, ReadSet, SealedFacts, StoreCard, Tables, TurnCounters } from "../../ledger/tables.js";
import { type MemoryTables, memoryTables } from "../memory/tables.js";
import type { Header } from "./image.js";
import { identicalKey, key } from "./keys.js";
import type { Part } from "./loading.js";
import { mustBeReadable } from "./schema.js";

export interface LoadedTables {
  readonly memory: Tables;
  /** By thread id, with one for each thread that is named and not stored yet. */
  readonly headers: Map<string, Header>;
  readonly clock: Moment | undefined;
  /** Epoch milliseconds of the database when it was asked. */
  readonly startedAt: number;
}

/** What is not among the tables as it is loaded: it is answered as it came. */
interface Aside {
  readonly listed: { threadId: string; scope: string | undefined; lastAt: number }[];
  readonly known: Set<string>;
  readonly requests: ModelRequestRecord[];
  readonly seals: SealedFacts[];
  proposals: number;
  card: StoreCard;
}

export function loaded(readSet: ReadSet, parts: readonly Part[]): LoadedTables {
  const memory = memoryTables();
  const headers = new Map<string, Header>();
  const aside: Aside = { listed: [], known: new Set(), requests: [], seals: [], proposals: 0, card: { id: "" } };
  let clock: Moment | undefined;
  let startedAt = 0;
  for (const part of inOrder(parts)) {
    if (part.kind === "thread") headers.set(JSON.parse(part.body) as string, headerOf(part));
    else if (part.kind === "now") {
      const { now, at, elapsed, version } = part.data as {
        now: number;
        at: number | null;
        elapsed: number;
        version: number;
      };
      mustBeReadable(version);
      startedAt = now;
      if (at !== null) clock = { at, elapsed };
    } else take(readSet, memory, aside, part);
  }
  for (const threadId of readSet.threads ?? []) if (!headers.has(threadId)) headers.set(threadId, newHeader());
  const { listed, known, requests } = aside;
  return {
    memory: {
      ...memory,
      addModelRequest: (record) => {
        if (known.has(record.requestId)) return false;
        known.add(record.requestId);
        return memory.addModelRequest(record);
      },
      modelRequests: () => requests,
      threads: () => listed.reverse().sort((a, b) => b.lastAt - a.lastAt),
      seals: () => ({ rows: aside.seals, proposals: aside.proposals }),
      card: () => aside.card,
    },
    headers,
    clock,
    startedAt,
  };
}

function take(readSet: ReadSet, memory: MemoryTables, aside: Aside, part: Part): void {
  const { kind, body, data } = part;
  switch (kind) {
    case "row": {
      const row = rowOf(part);
      memory.putRow(row);
      memory.setHaltScope(row.operation.id, data.halt as "thread" | "server");
      break;
    }
    case "question":
      memory.addQuestion(JSON.parse(body) as Question);
      break;
    case "turn":
      if (readSet.turn) memory.addToTurn(readSet.turn.threadId, readSet.turn.turnId, data as Partial<TurnCounters>);
      break;
    case "proposal":
      memory.addProposal(JSON.parse(body) as Proposal);
      break;
    case "known":
      aside.known.add(readSet.request as string);
      break;
    case "request":
      aside.requests.push(requestOf(part));
      break;
    case "snapshot":
      memory.addSnapshot(JSON.parse(gunzipSync(Buffer.from(body, "base64")).toString("utf8")) as SnapshotBody);
      break;
    case "seal":
      aside.seals.push(sealedFactsOf(JSON.parse(body) as OperationRow, data));
      break;
    case "proposals":
      aside.proposals = Number(data.count);
      break;
    case "card":
      aside.card = { id: data.id as string, ...(data.seal === null ? {} : { seal: data.seal as string }) };
      break;
    case "listed":
      aside.listed.push({
        threadId: JSON.parse(body) as string,
        scope: scopeFrom(data.scope),
        lastAt: data.lastAt as number,
      });
  }
}

/** As they were stored, each once: one part may be found in more than one way. */
function inOrder(parts: readonly Part[]): Part[] {
  const once = new Map([...parts].sort((a, b) => a.n - b.n).map((part) => [`${part.kind} ${part.n}`, part]));
  return [...once.values()];
}

function newHeader(): Header {
  return {
    version: 0,
    lastAt: 0,
    lastSeq: 0,
    holder: undefined,
    scope: undefined,
    head: undefined,
    accepted: undefined,
    forgotten: undefined,
    recent: [],
  };
}

function headerOf({ extra: owner, data }: Part): Header {
  const { version, lastAt, lastSeq, recent, until, steady, ...said } = data as unknown as Header & StoredLease;
  const [head, accepted] = [said.head ?? undefined, said.accepted ?? undefined]; // null where there is none
  const forgotten = said.forgotten ?? undefined;
  const holder = owner === null ? undefined : { owner: JSON.parse(owner) as Owner, ...leaseEnd(until, steady) };
  return { version, lastAt, lastSeq, recent, holder, scope: scopeFrom(data.scope), head, accepted, forgotten };
}

function scopeFrom(stored: unknown): string | undefined {
  return stored === null || stored === undefined ? undefined : (JSON.parse(String(stored)) as string);
}

function rowOf({ body, extra: given, data }: Part): OperationRow {
  const row = JSON.parse(body) as OperationRow;
  const args = JSON.parse(given as string) as OperationRow["operation"]["arguments"];
  const { lease: until, steady } = data as { lease: number | null; steady: number | null };
  const lease = {
    ...(until === null ? {} : { leaseUntil: until }),
    ...(steady === null ? {} : { leaseSteady: steady }),
  };
  return { ...row, ...lease, operation: { ...row.operation, arguments: args } } as OperationRow;
}

/** Rows are found by their columns and read from their bodies; where the two differ no seal holds. */
function sealedFactsOf(row: OperationRow, columns: Part["data"]): SealedFacts {
  const facts = factsOf(row);
  const { state, effect, status, reason, seq } = facts;
  const own = {
    ...{ id: key(facts.id), proposal: key(row.operation.proposalId), turn: key(row.turnId) },
    ...{ identical: identicalKey(row.operation), state, effect, status, reason, seq },
  };
  return Object.entries(own).every(([name, value]) => columns[name] === value) ? facts : { ...facts, seal: null };
}

interface StoredLease {
  readonly until: number;
  readonly steady: number | null;
}

/** What an older version stored has no steady reading. */
function leaseEnd(leaseUntil: number, leaseSteady: number | null): LeaseEnd {
  return { leaseUntil, ...(leaseSteady === null ? {} : { leaseSteady }) };
}

function requestOf({ body, extra: proposal, data }: Part): ModelRequestRecord {
  return {
    ...(JSON.parse(body) as Omit<ModelRequestRecord, "tools">),
    tools: JSON.parse(data.tools as string) as string[],
    ...(proposal === null ? {} : { proposal: JSON.parse(proposal) as Proposal }),
  };
}
