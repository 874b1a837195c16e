// Image: what was loaded for a transaction, as tables in memory, with a record of what its rule changes.
//
// Nothing here reaches the database. save.ts stores the record, if the threads it touches are still as loaded. A rule that
// looks at what was not loaded is refused by the ledger's own check (within.ts).

import { isDeepStrictEqual } from "node:util";
import type { Digest, Owner, Proposal, SnapshotBody } from "../../contracts/index.js";
import { sameOwner } from "../../contracts/index.js";
import type { Moment } from "../../ledger/clock.js";
import type { ModelRequestRecord } from "../../ledger/port.js";
import type { Holder, LeaseEnd, ReadSet, Tables, TurnCounters } from "../../ledger/tables.js";
import { within } from "../../ledger/within.js";
import { identicalKey } from "./keys.js";
import { loaded } from "./loaded.js";
import type { Part } from "./loading.js";

/** A thread's own cells. Version 0: it is not stored yet. */
export interface Header {
  version: number;
  lastAt: number;
  lastSeq: number;
  holder: Holder | undefined;
  head: string | undefined;
  accepted: string | undefined;
  forgotten: number | undefined;
  scope: string | undefined;
  readonly recent: readonly string[];
}

/** What the rule of one transaction changed. */
export interface Changes {
  clock?: Moment;
  readonly threads: Set<string>;
  /** By id; true: it is new. */
  readonly rows: Map<Digest, boolean>;
  /** By approval id; true: it is new. */
  readonly questions: Map<string, boolean>;
  readonly turns: { readonly threadId: string; readonly turnId: string; readonly more: Partial<TurnCounters> }[];
  readonly requests: ModelRequestRecord[];
  readonly proposals: Proposal[];
  readonly snapshots: SnapshotBody[];
  /** The seal of the store's card. */
  card?: string;
}

export interface Image {
  /** Everything that was loaded, to read from when it is stored. */
  readonly tables: Tables;
  /** By thread id. */
  readonly headers: ReadonlyMap<string, Header>;
  /** Where what is open in every thread was loaded: the writes that were unknown then. */
  readonly unknownEverywhere: readonly Digest[] | undefined;
  readonly clock: Moment | undefined;
  /** Epoch milliseconds of the database, as far as this process can tell. */
  now(): number;
  /** What a heartbeat stored in the meantime. */
  renewed(owner: Owner, lease: LeaseEnd): void;
  /** The tables for one rule with this read-set, and the record of what it changes. */
  record(readSet: ReadSet): { readonly tables: Tables; readonly changes: Changes };
  /** Whether it holds all that a read-set names. */
  covers(readSet: ReadSet): boolean;
}

/** The image of what was loaded. `hostClock`: the database's clock is not looked at, for tests that hold the clock. */
export function imageOf(readSet: ReadSet, parts: readonly Part[], hostClock: boolean): Image {
  const loadedAt = performance.now();
  const { memory, headers, clock, startedAt } = loaded(readSet, parts);
  const now = () => Math.floor(startedAt + performance.now() - loadedAt);
  const everywhere =
    readSet.everywhere === "always" || (readSet.everywhere === "halting" && isHalting(readSet, memory));
  const tables: Tables = { ...memory, clock: () => clock, ...(hostClock ? {} : { now }) };
  return {
    tables,
    headers,
    unknownEverywhere: everywhere ? memory.unknownWrites().map((row) => row.operation.id) : undefined,
    clock,
    now,
    renewed: (owner, lease) => {
      memory.renew(owner, lease);
      for (const header of headers.values()) {
        if (header.holder && sameOwner(header.holder.owner, owner)) header.holder = { owner, ...lease };
      }
    },
    record: (of) => {
      const changes = nothing();
      return { tables: within(of, recording(tables, headers, changes)), changes };
    },
    covers: (wanted) => covers(wanted, readSet, memory, headers),
  };
}

/**
 * Whether a rule with the wanted read-set would see all of it. What a rule itself adds may be absent, because it conflicts
 * with what was made since, and the statement fails as a whole: a request with its proposal, and operations. A proposal that
 * a rule only looks at must be there, for then it never changes; one that was absent may have been made since.
 */
function covers(
  { threads = [], operations = [], proposals = [], request, everywhere, writes, turn, ...rest }: ReadSet,
  loadedSet: ReadSet,
  memory: Tables,
  headers: ReadonlyMap<string, Header>,
): boolean {
  if (Object.keys(rest).length > 0 || everywhere === "always") return false;
  if (everywhere === "halting" && !operations.every((id) => memory.haltScope(id) === "thread")) return false;
  return (
    threads.every((id) => headers.has(id)) &&
    operations.every((id) => loadedSet.operations?.includes(id) || headers.has(memory.row(id)?.threadId ?? "")) &&
    (request !== undefined || proposals.every((id) => memory.proposal(id) !== undefined)) &&
    (writes === undefined || coversWrites(writes, loadedSet.writes)) &&
    (turn === undefined || isDeepStrictEqual(turn, loadedSet.turn))
  );
}

function coversWrites(
  { threadId, after, identical }: NonNullable<ReadSet["writes"]>,
  loadedWrites: ReadSet["writes"],
): boolean {
  if (loadedWrites?.threadId !== threadId || loadedWrites.after > after) return false;
  const known = new Set(loadedWrites.identical.map(identicalKey));
  return identical.every((write) => known.has(identicalKey(write)));
}

function isHalting({ operations = [] }: ReadSet, memory: Tables): boolean {
  return operations.some((id) => memory.haltScope(id) === "server");
}

/** Tables that say what is changed in them. */
function recording(tables: Tables, headers: ReadonlyMap<string, Header>, changes: Changes): Tables {
  const change = (threadId: string): Header => {
    changes.threads.add(threadId);
    return headers.get(threadId) as Header; // within.ts lets no rule change a thread that is not loaded
  };
  return {
    ...tables,
    ...recordingRows(tables, changes, change),
    ...recordingQuestions(tables, changes, change),
    setClock: (moment) => {
      changes.clock = moment;
    },
    addSnapshot: (snapshot) => {
      changes.snapshots.push(snapshot);
    },
    nextSeq: (threadId) => {
      const header = change(threadId);
      header.lastSeq += 1;
      return header.lastSeq;
    },
    holder: (threadId) => headers.get(threadId)?.holder,
    setHolder: (threadId, holder) => {
      change(threadId).holder = holder;
    },
    scope: (threadId) => headers.get(threadId)?.scope,
    setScope: (threadId, scope) => {
      change(threadId).scope = scope;
    },
    addToTurn: (threadId, turnId, more) => {
      change(threadId);
      changes.turns.push({ threadId, turnId, more });
      tables.addToTurn(threadId, turnId, more);
    },
    touch: (threadId, at) => {
      change(threadId).lastAt = at;
    },
    putProposal: (proposal) => {
      change(proposal.threadId);
      changes.proposals.push(proposal);
    },
    setCardSeal: (seal) => {
      changes.card = seal;
    },
    head: (threadId) => headers.get(threadId)?.head,
    setHead: (threadId, head) => {
      change(threadId).head = head;
    },
    setForgotten: (threadId, at) => {
      change(threadId).forgotten = at;
    },
    setAccepted: (threadId, said) => {
      change(threadId).accepted = JSON.stringify(said);
    },
  };
}

type Change = (threadId: string) => Header;

function recordingRows(
  tables: Tables,
  changes: Changes,
  change: Change,
): Pick<Tables, "addModelRequest" | "putRow" | "setHaltScope"> {
  return {
    addModelRequest: (record) => {
      const { proposal, ...rest } = record;
      const first = proposal !== undefined && tables.proposal(proposal.proposalId) === undefined;
      if (!tables.addModelRequest(record)) return false;
      change(record.threadId);
      changes.requests.push(first ? record : rest);
      return true;
    },
    putRow: (row) => {
      const { id } = row.operation;
      change(row.threadId);
      changes.rows.set(id, changes.rows.get(id) ?? tables.row(id) === undefined);
      tables.putRow(row);
    },
    setHaltScope: (id, scope) => {
      changes.rows.set(id, changes.rows.get(id) ?? false);
      tables.setHaltScope(id, scope);
    },
  };
}

function recordingQuestions(
  tables: Tables,
  changes: Changes,
  change: Change,
): Pick<Tables, "addQuestion" | "setVerdict" | "consume"> {
  const changed = (approvalId: string): void => {
    const question = tables.question(approvalId);
    if (!question) return;
    change(question.request.threadId);
    changes.questions.set(approvalId, changes.questions.get(approvalId) ?? false);
  };
  return {
    addQuestion: (question) => {
      change(question.request.threadId);
      changes.questions.set(question.request.approvalId, true);
      tables.addQuestion(question);
    },
    setVerdict: (approvalId, verdict, answered) => {
      changed(approvalId);
      tables.setVerdict(approvalId, verdict, answered);
    },
    consume: (approvalId) => {
      changed(approvalId);
      tables.consume(approvalId);
    },
  };
}

function nothing(): Changes {
  return {
    threads: new Set(),
    rows: new Map(),
    questions: new Map(),
    turns: [],
    requests: [],
    proposals: [],
    snapshots: [],
  };
}
