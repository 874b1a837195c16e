// Core: a Ledger over any store. Owns the clock that cannot be turned back; the rules are in the files beside it.
//
//   L7. A method that writes resolves when the store's transaction is durable, not before.

import { advance, later, type Moment } from "./clock.js";
import type { Ledger, LedgerDeps } from "./port.js";
import { begin, claim } from "./claim.js";
import { answer, ask, asked, openRequests } from "./question.js";
import * as reaches from "./read-set.js";
import { enter, leave } from "./thread.js";
import { asAsked, mustHold, type Session, sweepRows } from "./transaction.js";
import { readBack, refuse, resolve, settle, settleLate, unknowns } from "./settle.js";
import { standing } from "./standing.js";
import type { Reach, Store, Tables } from "./tables.js";

export function createLedger(store: Store, deps: LedgerDeps): Ledger {
  let seen: Moment | undefined;

  function open(tables: Tables): Session {
    const at = tables.now ? tables.now() : deps.now();
    const stored = tables.clock();
    const ways = [seen, stored].flatMap((last) => (last === undefined ? [] : [advance(last, at)]));
    const moment = ways.length === 0 ? advance(undefined, at) : ways.reduce(later);
    seen = moment;
    return { tables, moment, now: at, liveness: deps.liveness };
  }
  const read = <T>(reach: Reach, steps: (session: Session) => T): Promise<T> =>
    store.read(reach, (tables) => steps(open(tables)));
  const write = <T>(reach: Reach, steps: (session: Session) => T): Promise<T> =>
    store.write(reach, (tables) => {
      const session = open(tables);
      tables.setClock(session.moment);
      return steps(session);
    });

  return {
    putSnapshot: async (snapshot) => {
      const known = await read({ snapshot: snapshot.id }, ({ tables }) => tables.hasSnapshot(snapshot.id));
      if (!known) await write({}, ({ tables }) => tables.addSnapshot(snapshot)); // the usual case writes nothing
    },
    snapshot: (id) => read({ snapshot: id }, ({ tables }) => tables.snapshot(id)),

    enter: (threadId, owner, leaseMs) =>
      write({ threads: [threadId] }, (session) => enter(session, threadId, owner, leaseMs)),
    leave: (threadId, owner) => write({ threads: [threadId] }, (session) => leave(session, threadId, owner)),
    renew: (owner, leaseMs) =>
      store.renew ? store.renew(owner, leaseMs) : write({}, ({ tables, now }) => tables.renew(owner, now + leaseMs)),

    propose: (record, run) =>
      write(reaches.propose(record), (session) => {
        const { tables, now } = session;
        const { threadId, turnId, startedAt, endedAt, final } = record;
        mustHold(session, threadId, run); // L8
        if (!tables.addModelRequest(record)) return;
        const spent = { modelRequests: 1, activeMs: Math.max(0, endedAt - startedAt), finalMade: final };
        tables.addToTurn(threadId, turnId, spent);
        tables.touch(threadId, now);
      }),
    proposal: (proposalId) => read({ proposals: [proposalId] }, ({ tables }) => tables.proposal(proposalId)),
    modelRequests: (threadId, turnId) =>
      read({ requests: { threadId, turnId } }, ({ tables }) => tables.modelRequests(threadId, turnId)),

    row: (operationId) => read({ operations: [operationId] }, ({ tables }) => tables.row(operationId)),
    rows: (proposalId) => read({ proposals: [proposalId] }, ({ tables }) => tables.rowsOfProposal(proposalId)),
    operations: (threadId, turnId) =>
      read(reaches.history(threadId, turnId), ({ tables }) => tables.rowsOfThread(threadId, turnId)),
    standing: (query) => read(reaches.standing(query), (session) => standing(session, query)),

    ask: (requests, run) => write(reaches.ask(requests), (session) => ask(session, requests, run)),
    asked: (operationIds) => read({ operations: operationIds }, (session) => asked(session, operationIds)),
    request: (approvalId) =>
      read({ approvals: [approvalId] }, ({ tables, moment }) => {
        const question = tables.question(approvalId);
        return question && asAsked(question, moment);
      }),
    openRequests: (threadId, options) =>
      read(reaches.questions(threadId), (session) => openRequests(session, threadId, options?.answered)),
    answer: (answers) => write(reaches.answer(answers), (session) => answer(session, answers)),

    claim: (batch) => write(reaches.claim(batch), (session) => claim(session, batch)),
    begin: (operationId, fence) =>
      write({ operations: [operationId], everywhere: "halting" }, (session) => begin(session, operationId, fence)),
    settle: (settlement) => write({ operations: [settlement.operationId] }, (session) => settle(session, settlement)),
    settleLate: (settlement) =>
      write({ operations: [settlement.operationId] }, (session) => settleLate(session, settlement)),
    readBack: (operationId, found) =>
      write({ operations: [operationId] }, (session) => readBack(session, operationId, found)),
    refuse: async (refusals, run) =>
      refusals.length === 0 ? [] : write(reaches.refuse(refusals), (session) => refuse(session, refusals, run)),
    sweep: async ({ threadId, reads }) => {
      const reach = reaches.open(threadId);
      const open = await read(reach, ({ tables }) => tables.dispatching(threadId));
      if (open.length === 0) return []; // asked before each batch: the usual case writes nothing
      return write(reach, (session) => sweepRows(session, threadId, reads));
    },

    unknowns: (threadId) => write(reaches.open(threadId), (session) => unknowns(session, threadId)),
    resolve: (operationId, type, said) =>
      write({ operations: [operationId] }, (session) => resolve(session, operationId, type, said)),

    threads: () => read({ list: true }, ({ tables }) => tables.threads()),
    close: () => store.close(),
  };
}
