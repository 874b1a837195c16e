// The ledger over any store. It owns the clock that cannot be turned back; the rules are in the files beside it.
//
// Each method names what its rule looks at (read-set.ts), the rule, and what the change must survive (ledger-7).

import { begin, claim } from "./claim.js";
import { advance, later, type Moment } from "./clock.js";
import type { Ledger, LedgerDeps, LookPlan, LookQuery, PlanFrom } from "./port.js";
import { propose } from "./propose.js";
import { answer, ask, asked, openRequests } from "./question.js";
import * as readSets from "./read-set.js";
import { readBack, refuse, resolve, settle, settleLate, unknowns } from "./settle.js";
import { look, standing } from "./standing.js";
import { OutsideReadSet, type ReadSet, type Store, type Survives, type Tables } from "./tables.js";
import { enter, leave } from "./thread.js";
import { asAsked, sweepRows, type Transaction } from "./transaction.js";

export function createLedger(store: Store, deps: LedgerDeps): Ledger {
  const { read, write } = transactionsOf(store, deps);

  async function lookAt<Plan extends LookPlan>(query: LookQuery, planFrom: PlanFrom<Plan>) {
    const at = (plan: () => LookPlan) =>
      read(
        () => readSets.look(query, plan()),
        (tx) => look(tx, query, planFrom),
      );
    try {
      return await at(() => planFrom(undefined, []));
    } catch (error) {
      if (!(error instanceof OutsideReadSet)) throw error;
    }
    // The message does not say all of it (a person edited a call, or it belongs to another turn): its own rows do.
    const { proposalId } = query;
    const [proposal, rows] = await read(
      () => ({ proposals: [proposalId] }),
      ({ tables }) => [tables.proposal(proposalId), tables.rowsOfProposal(proposalId)] as const,
    );
    return at(() => planFrom(proposal, rows));
  }

  return {
    putSnapshot: async (snapshot) => {
      const known = await read(
        () => ({ snapshot: snapshot.id }),
        ({ tables }) => tables.hasSnapshot(snapshot.id),
      );
      if (known) return; // the usual case writes nothing
      await write(
        "kill",
        () => ({}),
        ({ tables }) => tables.addSnapshot(snapshot),
      );
    },
    snapshot: (id) =>
      read(
        () => ({ snapshot: id }),
        ({ tables }) => tables.snapshot(id),
      ),

    enter: (threadId, owner, leaseMs) =>
      write(
        "kill",
        () => readSets.thread(threadId),
        (tx) => enter(tx, threadId, owner, leaseMs),
      ),
    leave: (threadId, owner) =>
      write(
        "power-loss",
        () => readSets.thread(threadId),
        (tx) => leave(tx, threadId, owner),
      ),
    renew: (owner, leaseMs) =>
      store.renew
        ? store.renew(owner, leaseMs)
        : write(
            "kill",
            () => ({}),
            ({ tables, now }) => tables.renew(owner, now + leaseMs),
          ),

    propose: (record, run) =>
      write(
        "kill",
        () => readSets.propose(record),
        (tx) => propose(tx, record, run),
      ),
    proposal: (proposalId) =>
      read(
        () => ({ proposals: [proposalId] }),
        ({ tables }) => tables.proposal(proposalId),
      ),
    modelRequests: (threadId, turnId) =>
      read(
        () => ({ requests: { threadId, turnId } }),
        ({ tables }) => tables.modelRequests(threadId, turnId),
      ),

    row: (operationId) =>
      read(
        () => ({ operations: [operationId] }),
        ({ tables }) => tables.row(operationId),
      ),
    rows: (proposalId) =>
      read(
        () => ({ proposals: [proposalId] }),
        ({ tables }) => tables.rowsOfProposal(proposalId),
      ),
    operations: (threadId, turnId) =>
      read(
        () => readSets.history(threadId, turnId),
        ({ tables }) => tables.rowsOfThread(threadId, turnId),
      ),
    standing: (query) =>
      read(
        () => readSets.standing(query),
        (tx) => standing(tx, query),
      ),
    look: lookAt,

    ask: (requests, run) =>
      write(
        "power-loss",
        () => readSets.ask(requests),
        (tx) => ask(tx, requests, run),
      ),
    asked: (operationIds) =>
      read(
        () => ({ operations: operationIds }),
        (tx) => asked(tx, operationIds),
      ),
    request: (approvalId) =>
      read(
        () => ({ approvals: [approvalId] }),
        ({ tables, moment }) => {
          const question = tables.question(approvalId);
          return question && asAsked(question, moment);
        },
      ),
    openRequests: (threadId, options) =>
      read(
        () => readSets.questions(threadId),
        (tx) => openRequests(tx, threadId, options?.answered),
      ),
    answer: (answers) =>
      write(
        "power-loss",
        () => readSets.answer(answers),
        (tx) => answer(tx, answers),
      ),

    claim: (batch) =>
      write(
        "kill",
        () => readSets.claim(batch),
        (tx) => claim(tx, batch),
      ),
    begin: (operationId, fence) =>
      write(
        "power-loss",
        () => readSets.begin(operationId),
        (tx) => begin(tx, operationId, fence),
      ),
    settle: (settlement) =>
      write(
        "power-loss",
        () => readSets.operation(settlement.operationId),
        (tx) => settle(tx, settlement),
      ),
    settleLate: (settlement) =>
      write(
        "power-loss",
        () => readSets.operation(settlement.operationId),
        (tx) => settleLate(tx, settlement),
      ),
    readBack: (operationId, found) =>
      write(
        "power-loss",
        () => readSets.operation(operationId),
        (tx) => readBack(tx, operationId, found),
      ),
    refuse: async (refusals, run) =>
      refusals.length === 0
        ? []
        : write(
            "power-loss",
            () => readSets.refuse(refusals),
            (tx) => refuse(tx, refusals, run),
          ),
    sweep: async ({ threadId, reads }) => {
      const readSet = () => readSets.open(threadId);
      const open = await read(readSet, ({ tables }) => tables.dispatching(threadId));
      if (open.length === 0) return []; // the usual case writes nothing
      return write("power-loss", readSet, (tx) => sweepRows(tx, threadId, reads));
    },

    unknowns: (threadId) =>
      write(
        "power-loss",
        () => readSets.open(threadId),
        (tx) => unknowns(tx, threadId),
      ),
    resolve: (operationId, type, said) =>
      write(
        "power-loss",
        () => readSets.operation(operationId),
        (tx) => resolve(tx, operationId, type, said),
      ),

    threads: () =>
      read(
        () => ({ list: true }),
        ({ tables }) => tables.threads(),
      ),
    close: () => store.close(),
  };
}

/** Rules are run on a transaction: the store's tables at a moment of the clock that cannot be turned back. */
function transactionsOf(store: Store, deps: LedgerDeps) {
  let seen: Moment | undefined;
  const open = (tables: Tables): Transaction => {
    const at = tables.now ? tables.now() : deps.now();
    const stored = tables.clock();
    const ways = [seen, stored].flatMap((last) => (last === undefined ? [] : [advance(last, at)]));
    const moment = ways.length === 0 ? advance(undefined, at) : ways.reduce(later);
    seen = moment;
    return { tables, moment, now: at, liveness: deps.liveness };
  };
  return {
    read: <T>(readSet: () => ReadSet, rule: (tx: Transaction) => T): Promise<T> =>
      store.read(readSet, (tables) => rule(open(tables))),
    write: <T>(survives: Survives, readSet: () => ReadSet, rule: (tx: Transaction) => T): Promise<T> =>
      store.write(
        readSet,
        (tables) => {
          const tx = open(tables);
          tables.setClock(tx.moment);
          return rule(tx);
        },
        survives,
      ),
  };
}
