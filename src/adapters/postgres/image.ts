// Image: what was loaded for a transaction, as tables in memory, with a record of what its steps change.
//
//   I2. Looking at what was not loaded is a mistake of the steps, and throws: it would read as "there is none".
//   I3. Nothing here reaches the database. `save.ts` stores the record, if the threads it touches are still as loaded.

import { gunzipSync } from "node:zlib";
import type { Digest, OperationRow, Owner, Proposal, ToolSnapshot } from "../../contracts/index.js";
import type { Moment } from "../../ledger/clock.js";
import type { ModelRequestRecord } from "../../ledger/port.js";
import { memoryTables } from "../memory/tables.js";
import { sameOwner } from "../../ledger/transaction.js";
import type { Holder, Question, Reach, Tables, TurnCounters } from "../../ledger/tables.js";
import { identicalKey } from "./keys.js";
import type { Part } from "./load.js";

/** A thread's own cells. Version 0: it is not stored yet. */
export interface Header {
  version: number;
  lastAt: number;
  lastSeq: number;
  holder: Holder | undefined;
  readonly recent: readonly string[];
}

/** What the steps of one transaction changed. */
export interface Changes {
  clock?: Moment;
  readonly threads: Set<string>;
  /** By id; true: it is new. */
  readonly rows: Map<Digest, boolean>;
  /** By approval id; true: it is new. */
  readonly questions: Map<string, boolean>;
  readonly turns: { readonly threadId: string; readonly turnId: string; readonly more: Partial<TurnCounters> }[];
  readonly requests: ModelRequestRecord[];
  readonly snapshots: ToolSnapshot[];
}

export interface Image {
  readonly tables: Tables;
  /** By thread id. */
  readonly headers: ReadonlyMap<string, Header>;
  /** Where what is open in every thread was loaded: the writes that were unknown then. */
  readonly unknownEverywhere: readonly Digest[] | undefined;
  readonly clock: Moment | undefined;
  /** Epoch milliseconds of the database, as far as this process can tell. */
  now(): number;
  /** What a heartbeat stored in the meantime. */
  renewed(owner: Owner, leaseUntil: number): void;
  /** Begins the record of a transaction on it. */
  record(): Changes;
  /** Whether it holds all that a reach names. Only reaches of a single operation are looked for. */
  covers(reach: Reach): boolean;
}

/** The image of a reach. `hostClock`: the database's clock is not looked at, for tests that hold the clock. */
export function imageOf(reach: Reach, parts: readonly Part[], hostClock: boolean): Image {
  const loadedAt = performance.now();
  const memory = memoryTables();
  const headers = new Map<string, Header>();
  const proposals = new Map<string, Proposal>();
  const requests: ModelRequestRecord[] = [];
  const listed: { threadId: string; lastAt: number }[] = [];
  const asked = new Set<Digest>(reach.operations);
  const there = new Set<Digest>(reach.operations);
  const approvals = new Set<string>(reach.approvals);
  const known = new Set<string>();
  let snapshot: ToolSnapshot | undefined;
  let clock: Moment | undefined;
  let started = 0;
  let halting = false;
  let changes: Changes = nothing();

  const fresh = (threadId: string): Header => {
    const header = { version: 0, lastAt: 0, lastSeq: 0, holder: undefined, recent: [] };
    headers.set(threadId, header);
    return header;
  };
  const seen = new Set<string>();
  for (const part of [...parts].sort((a, b) => a.n - b.n)) {
    const name = `${part.kind} ${part.n}`;
    if (seen.has(name)) continue; // found in more than one way
    seen.add(name);
    take(part);
  }
  for (const threadId of reach.threads ?? []) if (!headers.has(threadId)) fresh(threadId);
  const everywhere = reach.everywhere === "always" || (reach.everywhere === "halting" && halting);
  const unknown = memory.unknownWrites().map((row) => row.operation.id);

  function take({ kind, body, extra, data }: Part): void {
    switch (kind) {
      case "now":
        started = data.now as number;
        if (data.at !== null) clock = { at: data.at as number, elapsed: data.elapsed as number };
        return;
      case "thread": {
        const { version, lastAt, lastSeq, recent, until } = data as unknown as Header & { until: number };
        const holder = extra === null ? undefined : { owner: JSON.parse(extra) as Owner, leaseUntil: until };
        const threadId = JSON.parse(body) as string;
        headers.set(threadId, { version, lastAt, lastSeq, recent, holder });
        return;
      }
      case "row": {
        const row = JSON.parse(body) as OperationRow;
        const operation = {
          ...row.operation,
          arguments: JSON.parse(extra as string) as OperationRow["operation"]["arguments"],
        };
        const lease = data.lease === null ? {} : { leaseUntil: data.lease as number };
        memory.putRow({ ...row, operation, ...lease });
        memory.setHaltScope(operation.id, data.halt as "thread" | "server");
        there.add(operation.id);
        if (reach.proposals?.includes(operation.proposalId)) asked.add(operation.id);
        if (reach.operations?.includes(operation.id) && data.halt === "server") halting = true;
        return;
      }
      case "question": {
        const question = JSON.parse(body) as Question;
        memory.addQuestion(question);
        approvals.add(question.request.approvalId);
        asked.add(question.request.operationId);
        return;
      }
      case "turn":
        if (reach.turn) memory.addToTurn(reach.turn.threadId, reach.turn.turnId, data as Partial<TurnCounters>);
        return;
      case "proposal": {
        const proposal = JSON.parse(body) as Proposal;
        proposals.set(proposal.proposalId, proposal);
        return;
      }
      case "known":
        known.add(reach.request as string);
        return;
      case "request":
        requests.push({
          ...(JSON.parse(body) as Omit<ModelRequestRecord, "tools">),
          tools: JSON.parse(data.tools as string) as string[],
          ...(extra === null ? {} : { proposal: JSON.parse(extra) as Proposal }),
        });
        return;
      case "snapshot":
        snapshot = JSON.parse(gunzipSync(Buffer.from(body, "base64")).toString("utf8")) as ToolSnapshot;
        return;
      case "listed":
        listed.push({ threadId: JSON.parse(body) as string, lastAt: data.lastAt as number });
    }
  }

  const header = (threadId: string): Header => headers.get(threadId) ?? outside(`thread ${threadId}`);
  const change = (threadId: string): Header => {
    changes.threads.add(threadId);
    return header(threadId);
  };
  const inThread = (threadId: string | undefined): void => {
    if (threadId === undefined ? !everywhere : !headers.has(threadId)) outside(`what is open in ${threadId ?? "all"}`);
  };
  const need = (within: boolean, what: string): void => {
    if (!within) outside(what);
  };
  const samePlace = (
    a: { threadId: string; turnId?: string } | undefined,
    threadId: string,
    turnId?: string,
  ): boolean => a?.threadId === threadId && a.turnId === turnId;
  const changeQuestion = (approvalId: string): void => {
    const question = memory.question(approvalId) as Question | undefined;
    if (!question) return;
    change(question.request.threadId);
    changes.questions.set(approvalId, changes.questions.get(approvalId) ?? false);
  };
  const now = () => Math.floor(started + performance.now() - loadedAt);

  const tables: Tables = {
    ...(hostClock ? {} : { now }),
    clock: () => clock,
    setClock: (moment) => {
      changes.clock = moment;
    },

    addSnapshot: (added) => {
      changes.snapshots.push(added);
    },
    hasSnapshot: (id) => {
      need(reach.snapshot === id, `snapshot ${id}`);
      return snapshot !== undefined;
    },
    snapshot: (id) => {
      need(reach.snapshot === id, `snapshot ${id}`);
      return snapshot;
    },

    addModelRequest: (record) => {
      need(reach.request === record.requestId, `request ${record.requestId}`);
      if (known.has(record.requestId)) return false;
      known.add(record.requestId);
      change(record.threadId);
      const { proposal, ...rest } = record;
      if (proposal) need(reach.proposals?.includes(proposal.proposalId) === true, `proposal ${proposal.proposalId}`);
      const first = proposal !== undefined && !proposals.has(proposal.proposalId);
      if (first) proposals.set(proposal.proposalId, proposal);
      changes.requests.push(first ? record : rest);
      return true;
    },
    modelRequests: (threadId, turnId) => {
      need(samePlace(reach.requests, threadId, turnId), "model requests");
      return requests;
    },
    proposal: (proposalId) => {
      need(reach.proposals?.includes(proposalId) === true, `proposal ${proposalId}`);
      return proposals.get(proposalId);
    },

    row: (id) => {
      need(there.has(id), `operation ${id}`);
      return memory.row(id);
    },
    putRow: (row) => {
      const { id } = row.operation;
      need(there.has(id), `operation ${id}`);
      change(row.threadId);
      changes.rows.set(id, changes.rows.get(id) ?? memory.row(id) === undefined);
      memory.putRow(row);
    },
    rowsOfProposal: (proposalId) => {
      need(reach.proposals?.includes(proposalId) === true, `rows of proposal ${proposalId}`);
      return memory.rowsOfProposal(proposalId);
    },
    rowsOfThread: (threadId, turnId) => {
      need(samePlace(reach.history, threadId, turnId), "the history");
      return memory.rowsOfThread(threadId, turnId);
    },
    dispatching: (threadId) => {
      inThread(threadId);
      return memory.dispatching(threadId);
    },
    unknownWrites: (threadId) => {
      inThread(threadId);
      return memory.unknownWrites(threadId);
    },
    inHand: (threadId) => {
      inThread(threadId);
      return memory.inHand(threadId);
    },
    identicalWrites: (threadId, call) => {
      const { writes } = reach;
      const same = writes?.identical.some((one) => identicalKey(one) === identicalKey(call));
      need(writes?.threadId === threadId && same === true, "identical writes");
      return memory.identicalWrites(threadId, call);
    },
    writesAfter: (threadId, seq) => {
      const { writes } = reach;
      need(writes !== undefined && writes.threadId === threadId && seq >= writes.after, `writes after ${seq}`);
      return memory.writesAfter(threadId, seq);
    },
    nextSeq: (threadId) => {
      const of = change(threadId);
      of.lastSeq += 1;
      return of.lastSeq;
    },
    haltScope: (id) => {
      need(there.has(id), `operation ${id}`);
      return memory.haltScope(id);
    },
    setHaltScope: (id, scope) => {
      need(there.has(id), `operation ${id}`);
      changes.rows.set(id, changes.rows.get(id) ?? false);
      memory.setHaltScope(id, scope);
    },
    holder: (threadId) => header(threadId).holder,
    setHolder: (threadId, holder) => {
      change(threadId).holder = holder;
    },
    renew: () => outside("the leases of an owner"),

    turn: (threadId, turnId) => {
      need(samePlace(reach.turn, threadId, turnId), `turn ${turnId}`);
      return memory.turn(threadId, turnId);
    },
    addToTurn: (threadId, turnId, more) => {
      change(threadId);
      changes.turns.push({ threadId, turnId, more });
      memory.addToTurn(threadId, turnId, more);
    },
    rejectedByPerson: (threadId, turnId) => {
      need(samePlace(reach.turn, threadId, turnId), `turn ${turnId}`);
      return memory.rejectedByPerson(threadId, turnId);
    },

    addQuestion: (question) => {
      const { approvalId, operationId, threadId } = question.request;
      need(asked.has(operationId), `questions about ${operationId}`);
      change(threadId);
      approvals.add(approvalId);
      changes.questions.set(approvalId, true);
      memory.addQuestion(question);
    },
    question: (approvalId) => {
      need(approvals.has(approvalId), `question ${approvalId}`);
      return memory.question(approvalId);
    },
    currentQuestion: (id) => {
      need(asked.has(id), `questions about ${id}`);
      return memory.currentQuestion(id);
    },
    setVerdict: (approvalId, verdict, answered) => {
      need(approvals.has(approvalId), `question ${approvalId}`);
      changeQuestion(approvalId);
      memory.setVerdict(approvalId, verdict, answered);
    },
    consume: (approvalId) => {
      need(approvals.has(approvalId), `question ${approvalId}`);
      changeQuestion(approvalId);
      memory.consume(approvalId);
    },
    lastVerdict: (proposalId) => {
      need(reach.proposals?.includes(proposalId) === true, `verdicts of proposal ${proposalId}`);
      return memory.lastVerdict(proposalId);
    },
    openQuestions: (threadId) => {
      need(reach.questions !== undefined && reach.questions.threadId === threadId, "open questions");
      return memory.openQuestions(threadId);
    },

    threads: () => {
      need(reach.list === true, "the list of threads");
      return listed.reverse().sort((a, b) => b.lastAt - a.lastAt);
    },
    touch: (threadId, at) => {
      change(threadId).lastAt = at;
    },
  };
  return {
    tables,
    headers,
    unknownEverywhere: everywhere ? unknown : undefined,
    clock,
    now,
    renewed: (owner, leaseUntil) => {
      memory.renew(owner, leaseUntil);
      for (const of of headers.values()) {
        if (of.holder && sameOwner(of.holder.owner, owner)) of.holder = { owner, leaseUntil };
      }
    },
    record: () => {
      changes = nothing();
      return changes;
    },
    covers: ({ operations = [], everywhere: all, ...rest }) =>
      Object.keys(rest).length === 0 &&
      all !== "always" &&
      operations.every(
        (id) => there.has(id) && headers.has((memory.row(id) as OperationRow | undefined)?.threadId ?? ""),
      ) &&
      (all !== "halting" || operations.every((id) => memory.haltScope(id) === "thread")),
  };
}

function nothing(): Changes {
  return { threads: new Set(), rows: new Map(), questions: new Map(), turns: [], requests: [], snapshots: [] };
}

function outside(what: string): never {
  throw new TypeError(`a transaction looked at ${what}, which it did not name`);
}
