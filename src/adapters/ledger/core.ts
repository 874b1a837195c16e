// Core: a Ledger over any store. Owns the clock that cannot be turned back; the rules are in the files beside it.
//
//   L7. A method that writes resolves when the store's transaction is durable, not before.

import { advance, later, type Moment } from "../../execution/clock.js";
import type { Ledger, LedgerDeps } from "../../execution/ledger.js";
import { begin, claim } from "./claims.js";
import { answer, ask, asked, openRequests } from "./questions.js";
import { asAsked, type Session, sweepRows } from "./session.js";
import { readBack, refuse, resolve, settle, settleLate, unknowns } from "./settling.js";
import { standing } from "./standing.js";
import { get, type Steps, type Store, type Tables } from "./tables.js";

export function createLedger(store: Store, deps: LedgerDeps): Ledger {
  let seen: Moment | undefined;

  function* open(tables: Tables): Steps<Session> {
    const at = deps.now();
    const stored = yield* get(tables.clock());
    const ways = [seen, stored].flatMap((last) => (last === undefined ? [] : [advance(last, at)]));
    const moment = ways.length === 0 ? advance(undefined, at) : ways.reduce(later);
    seen = moment;
    return { tables, moment, now: at, liveness: deps.liveness };
  }
  const read = <T>(steps: (session: Session) => Steps<T>): Promise<T> =>
    store.read(function* (tables) {
      return yield* steps(yield* open(tables));
    });
  const write = <T>(steps: (session: Session) => Steps<T>): Promise<T> =>
    store.write(function* (tables) {
      const session = yield* open(tables);
      yield* get(tables.setClock(session.moment));
      return yield* steps(session);
    });

  return {
    putSnapshot: async (snapshot) => {
      if (await read(({ tables }) => get(tables.hasSnapshot(snapshot.id)))) return; // the usual case writes nothing
      await write(({ tables }) => get(tables.addSnapshot(snapshot)));
    },
    snapshot: (id) => read(({ tables }) => get(tables.snapshot(id))),

    propose: (record) =>
      write(function* ({ tables, now }) {
        if (!(yield* get(tables.addModelRequest(record)))) return;
        const { threadId, turnId, startedAt, endedAt, final } = record;
        const spent = { modelRequests: 1, activeMs: Math.max(0, endedAt - startedAt), finalMade: final };
        yield* get(tables.addToTurn(threadId, turnId, spent));
        yield* get(tables.touch(threadId, now));
      }),
    proposal: (proposalId) => read(({ tables }) => get(tables.proposal(proposalId))),
    modelRequests: (threadId, turnId) => read(({ tables }) => get(tables.modelRequests(threadId, turnId))),

    row: (operationId) => read(({ tables }) => get(tables.row(operationId))),
    rows: (proposalId) => read(({ tables }) => get(tables.rowsOfProposal(proposalId))),
    operations: (threadId, turnId) => read(({ tables }) => get(tables.rowsOfThread(threadId, turnId))),
    standing: (query) => read((session) => standing(session, query)),

    ask: (requests) => write((session) => ask(session, requests)),
    asked: (operationIds) => read((session) => asked(session, operationIds)),
    request: (approvalId) =>
      read(function* ({ tables }) {
        const question = yield* get(tables.question(approvalId));
        return question && asAsked(question);
      }),
    openRequests: (threadId, options) => read((session) => openRequests(session, threadId, options?.answered)),
    answer: (answers) => write((session) => answer(session, answers)),

    claim: (batch) => write((session) => claim(session, batch)),
    begin: (operationId, fence) => write((session) => begin(session, operationId, fence)),
    renew: (owner, leaseMs) => write(({ tables, now }) => get(tables.renew(owner, now + leaseMs))),
    settle: (settlement) => write((session) => settle(session, settlement)),
    settleLate: (settlement) => write((session) => settleLate(session, settlement)),
    readBack: (operationId, found) => write((session) => readBack(session, operationId, found)),
    refuse: async (refusals) => (refusals.length === 0 ? [] : write((session) => refuse(session, refusals))),
    sweep: async ({ threadId, reads }) => {
      const open = await read(({ tables }) => get(tables.dispatching(threadId)));
      if (open.length === 0) return []; // asked before each batch: the usual case writes nothing
      return write((session) => sweepRows(session, threadId, reads));
    },

    unknowns: (threadId) => write((session) => unknowns(session, threadId)),
    resolve: (operationId, type, said) => write((session) => resolve(session, operationId, type, said)),

    threads: () => read(({ tables }) => get(tables.threads())),
    close: () => store.close(),
  };
}
