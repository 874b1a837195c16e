// The ledger over any store. It owns the clock that cannot be turned back; the rules are in the files beside it.
//
// Each method names what its rule looks at (read-set.ts), the rule, and what the change must survive (ledger-7).

import { type SettledRow, scopeOfKey, takenOver } from "../contracts/index.js";
import {
  accept,
  acceptCard,
  comingOf,
  mustBeCurrent,
  mustBeNew,
  mustBeWhole,
  sealThread,
  standingOf,
} from "./accept.js";
import { begin, claim } from "./claim.js";
import { advance, later, type Moment } from "./clock.js";
import { bury } from "./forget.js";
import type { Ledger, LedgerDeps, LookPlan, Mark, Marked, Survives } from "./port.js";
import { propose } from "./propose.js";
import { answer, ask, asked, openRequests } from "./question.js";
import * as readSets from "./read-set.js";
import { sealing } from "./sealing.js";
import { NO_HEAD, type Sealer, sealerOf } from "./seals.js";
import { readBack, refuse, resolve, settle, settleLate, unknowns } from "./settle.js";
import { look, standing } from "./standing.js";
import { OutsideReadSet, type ReadSet, type Store, type Tables } from "./tables.js";
import { adopt, enter, leave, scopeOf } from "./thread.js";
import { asAsked, sweepRows, type Transaction } from "./transaction.js";
import { leaseOf } from "./transitions.js";

export function createLedger(store: Store, deps: LedgerDeps): Ledger {
  const transactions = transactionsOf(store, deps);
  return {
    ...threadMethods(store, transactions, deps),
    ...proposalMethods(transactions),
    ...rowMethods(transactions),
    ...questionMethods(transactions, deps.mark),
    ...callMethods(transactions, deps.mark),
    close: async () => {
      deps.mark?.close();
      await store.close();
    },
  };
}

/** How often a response is looked up where its rows change in between. */
const LOOKS = 5;

type Methods<Name extends keyof Ledger> = Pick<Ledger, Name>;

function threadMethods(
  store: Store,
  { read, write, takeAsItIs }: Transactions,
  { mark, steady }: Pick<LedgerDeps, "mark" | "steady">,
): Methods<
  "enter" | "verify" | "accept" | "acceptRestored" | "forget" | "scopeOf" | "adopt" | "leave" | "renew" | "threads"
> {
  const entering = (threadId: string) => readSets.enter(threadId, mark !== undefined);
  const accepting = (threadId: string) => readSets.wholeThread(threadId);
  const threads = () => read(readSets.list, ({ tables }) => tables.threads());
  const renewMark = async (of: Mark) => {
    await write("power-loss", readSets.card, (tx) => acceptCard(tx, of));
    const stand = async (key: string) => read(entering(key), (tx) => standingOf(tx, key));
    of.renew(
      await Promise.all((await threads()).map(async ({ threadId }) => [threadId, await stand(threadId)] as const)),
    );
  };
  return {
    enter: (threadId, owner, leaseMs, scope) =>
      write("kill", entering(threadId), (tx) => {
        const entered = enter(tx, threadId, owner, leaseMs, scope);
        if (mark && entered.kind === "entered") mustBeCurrent(tx, threadId, mark);
        return entered;
      }),
    verify: (threadId) =>
      read(entering(threadId), (tx) => {
        mustBeWhole(tx, threadId);
        if (mark) mustBeCurrent(tx, threadId, mark);
      }),
    accept: (threadId, said) => write("power-loss", accepting(threadId), (tx) => accept(tx, threadId, said, { mark })),
    acceptRestored: async (said) => {
      const unknown: SettledRow[] = [];
      await takeAsItIs();
      for (const { threadId } of await threads()) {
        const accepted = await write("kill", accepting(threadId), (tx) =>
          accept(tx, threadId, said, { mark, anyhow: true }),
        );
        if (accepted.kind === "busy") throw takenOver(threadId);
        if (accepted.kind === "accepted") unknown.push(...accepted.unknown);
      }
      if (mark) await renewMark(mark);
      return unknown;
    },
    forget: async (threadId, run) => {
      const buried = await write("kill", readSets.wholeThread(threadId), (tx) => bury(tx, threadId, run));
      if (buried.kind === "unsettled") return buried;
      await store.erase(threadId); // where the process ends before what follows, all of it is done again
      await write("power-loss", readSets.thread(threadId), ({ tables, now }) => tables.setForgotten(threadId, now));
      return buried;
    },
    scopeOf: (threadId) => read(readSets.thread(threadId), (tx) => scopeOf(tx, threadId)),
    adopt: (threadId, scope) => write("kill", readSets.thread(threadId), (tx) => adopt(tx, threadId, scope)),
    leave: (threadId, owner) => write("power-loss", readSets.thread(threadId), (tx) => leave(tx, threadId, owner)),
    renew: (owner, leaseMs) =>
      store.renew
        ? store.renew(owner, leaseMs, steady() + leaseMs)
        : write("kill", readSets.nothing, (tx) => tx.tables.renew(owner, leaseOf(leaseMs, tx))),
    threads: ({ idleMs = Number.NEGATIVE_INFINITY } = {}) =>
      read(readSets.list, ({ tables, now }) =>
        tables
          .threads()
          .filter(({ lastAt }) => now - lastAt >= idleMs)
          .map(({ threadId, scope = scopeOfKey(threadId), lastAt }) => ({ threadId, scope, lastAt })),
      ),
  };
}

function proposalMethods({
  read,
  write,
}: Transactions): Methods<"putSnapshot" | "snapshot" | "propose" | "proposal" | "modelRequests"> {
  return {
    putSnapshot: async (snapshot, survives = "power-loss") => {
      const known = await read(readSets.snapshot(snapshot.id), ({ tables }) => tables.hasSnapshot(snapshot.id));
      if (known) return; // the usual case writes nothing
      await write(survives, readSets.nothing, ({ tables }) => tables.addSnapshot(snapshot));
    },
    snapshot: (id) => read(readSets.snapshot(id), ({ tables }) => tables.snapshot(id)),
    propose: (record, run) => {
      const survives = run === undefined ? "power-loss" : "kill"; // without a run it is a part of another graph
      return write(survives, readSets.propose(record), (tx) => propose(tx, record, run));
    },
    proposal: (proposalId) => read(readSets.proposal(proposalId), ({ tables }) => tables.proposal(proposalId)),
    modelRequests: (threadId, turnId) =>
      read(readSets.requests(threadId, turnId), ({ tables }) => tables.modelRequests(threadId, turnId)),
  };
}

function rowMethods({ read }: Transactions): Methods<"row" | "rows" | "operations" | "standing" | "look"> {
  return {
    row: (operationId) => read(readSets.operation(operationId), ({ tables }) => tables.row(operationId)),
    rows: (proposalId) => read(readSets.proposal(proposalId), ({ tables }) => tables.rowsOfProposal(proposalId)),
    operations: (threadId, turnId) =>
      read(readSets.history(threadId, turnId), ({ tables }) => tables.rowsOfThread(threadId, turnId)),
    standing: (query) => read(readSets.standing(query), (tx) => standing(tx, query)),

    look: async (query, planFrom) => {
      const { proposalId } = query;
      let plan: () => LookPlan = () => planFrom(undefined, []);
      for (let tries = 1; ; tries++) {
        try {
          return await read(readSets.look(query, plan), (tx) => look(tx, query, planFrom));
        } catch (error) {
          if (!(error instanceof OutsideReadSet) || tries >= LOOKS) throw error;
        }
        // The message does not say all of it (a person edited a call, or it belongs to another turn): its own rows do.
        const found = await read(readSets.proposal(proposalId), ({ tables }) =>
          planFrom(tables.proposal(proposalId), tables.rowsOfProposal(proposalId)),
        );
        plan = () => found;
      }
    },
  };
}

/** What a person says is not stored in a thread that was set back: it would hide that it was. */
function currentOf(tx: Transaction, threadId: string | undefined, mark: Mark | undefined): void {
  if (mark && threadId !== undefined) mustBeCurrent(tx, threadId, mark);
}

function questionMethods(
  { read, write }: Transactions,
  mark: Mark | undefined,
): Methods<"ask" | "asked" | "request" | "openRequests" | "answer"> {
  return {
    ask: (requests, run) => write("power-loss", readSets.ask(requests), (tx) => ask(tx, requests, run)),
    asked: (operationIds) => read(readSets.operations(operationIds), (tx) => asked(tx, operationIds)),
    request: (approvalId) =>
      read(readSets.request(approvalId), ({ tables, moment }) => {
        const question = tables.question(approvalId);
        return question && asAsked(question, moment);
      }),
    openRequests: (threadId, options) =>
      read(readSets.questions(threadId), (tx) => openRequests(tx, threadId, options?.answered)),
    answer: (answers) =>
      write("power-loss", readSets.answer(answers, mark !== undefined), (tx) => {
        for (const { verdict } of answers)
          currentOf(tx, tx.tables.question(verdict.approvalId)?.request.threadId, mark);
        return answer(tx, answers);
      }),
  };
}

function callMethods(
  { read, write }: Transactions,
  mark: Mark | undefined,
): Methods<"claim" | "begin" | "settle" | "settleLate" | "readBack" | "refuse" | "sweep" | "unknowns" | "resolve"> {
  return {
    claim: (batch) => write("kill", readSets.claim(batch), (tx) => claim(tx, batch)),
    begin: async (operationId, fence, actsMs) => {
      let place: { readonly key: string; readonly marked: Marked } | undefined;
      const begun = await write("power-loss", readSets.begin(operationId, mark !== undefined), (tx) => {
        const result = begin({ ...tx, marks: mark !== undefined }, operationId, fence, actsMs);
        const row = mark && result.kind === "dispatching" ? tx.tables.row(operationId) : undefined;
        const key = row?.operation.effect === "write" ? row.threadId : undefined;
        place = key === undefined ? undefined : { key, marked: comingOf(tx, key) };
        return result;
      });
      if (place) mark?.add(place.key, place.marked); // before the first byte
      return begun;
    },
    settle: (settlement) =>
      write(
        "power-loss",
        readSets.operation(settlement.operationId),
        (tx) => settle(tx, settlement),
        "whatever stands",
      ),
    settleLate: (settlement) =>
      write(
        "power-loss",
        readSets.operation(settlement.operationId),
        (tx) => settleLate(tx, settlement),
        "whatever stands",
      ),
    readBack: (operationId, found) =>
      write("power-loss", readSets.operation(operationId), (tx) => readBack(tx, operationId, found)),
    refuse: async (refusals, run) =>
      refusals.length === 0 ? [] : write("power-loss", readSets.refuse(refusals), (tx) => refuse(tx, refusals, run)),
    sweep: async ({ threadId, reads }) => {
      const open = await read(readSets.open(threadId), ({ tables }) => tables.dispatching(threadId));
      if (open.length === 0) return []; // the usual case writes nothing
      return write("power-loss", readSets.open(threadId), (tx) => sweepRows(tx, threadId, reads));
    },
    unknowns: (threadId) => write("power-loss", readSets.open(threadId), (tx) => unknowns(tx, threadId)),
    resolve: (operationId, type, said) =>
      write("power-loss", readSets.settling(operationId, mark !== undefined), (tx) => {
        currentOf(tx, tx.tables.row(operationId)?.threadId, mark);
        return resolve(tx, operationId, type, said);
      }),
  };
}

/** What becomes of a change of a row that another hand changed. What came of a call is stored whatever became of its row. */
type Broken = "refused" | "whatever stands";

interface Transactions {
  read<T>(readSet: () => ReadSet, rule: (tx: Transaction) => T): Promise<T>;
  write<T>(survives: Survives, readSet: () => ReadSet, rule: (tx: Transaction) => T, broken?: Broken): Promise<T>;
  /** A person takes the store as it is, also where its seals were taken away. */
  takeAsItIs(): Promise<void>;
}

/** Rules are run on a transaction: the store's tables at a moment of the clock that cannot be turned back. */
function transactionsOf(store: Store, deps: LedgerDeps): Transactions {
  let seen: Moment | undefined;
  const sealer = deps.seals && sealerOf(deps.seals);
  const open = (tables: Tables): Transaction => {
    const at = tables.now ? tables.now() : deps.now();
    const stored = tables.clock();
    const ways = [seen, stored].flatMap((last) => (last === undefined ? [] : [advance(last, at)]));
    const moment = ways.length === 0 ? advance(undefined, at) : ways.reduce(later);
    seen = moment;
    const seals = sealer && { sealer, kept: tables };
    return { tables, moment, now: at, steady: deps.steady(), liveness: deps.liveness, seals };
  };
  const plainly: Transactions = {
    takeAsItIs: async () => undefined,
    read: (readSet, rule) => store.read(readSet, (tables) => rule(open(tables))),
    write: (survives, readSet, rule) =>
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
  return sealer === undefined ? plainly : sealed(plainly, sealer, deps.mark);
}

/** The same, with rows that are sealed as they change. (ledger-10) */
function sealed(plainly: Transactions, sealer: Sealer, mark: Mark | undefined): Transactions {
  let whole: Promise<void> | undefined;
  const sealedOnce = (): Promise<void> => {
    whole ??= sealStore(plainly, sealer, mark).catch((error: unknown) => {
      whole = undefined;
      throw error;
    });
    return whole;
  };
  return {
    read: async (readSet, rule) => {
      await sealedOnce(); // what an earlier version left looks like an edit until then
      return plainly.read(readSet, rule);
    },
    takeAsItIs: async () => {
      const seal = (tables: Tables) => tables.setCardSeal(sealer.sealHead(tables.card().id, NO_HEAD));
      await plainly.write("kill", readSets.card, ({ tables }) => seal(tables));
    },
    write: async (survives, readSet, rule, broken = "refused") => {
      await sealedOnce();
      return plainly.write(survives, readSet, (tx) => {
        const { tables, changesOf, finish } = sealing(tx.tables, sealer, broken === "refused");
        const result = rule({ ...tx, tables, changesOf });
        finish();
        return result;
      });
    },
  };
}

/** Seals what an earlier version left, once in the life of a store. */
async function sealStore({ read, write }: Transactions, sealer: Sealer, mark: Mark | undefined): Promise<void> {
  const card = await read(readSets.card, ({ tables }) => tables.card());
  if (card.seal !== undefined) return;
  if (mark) mustBeNew(card, mark);
  const threads = await read(readSets.list, ({ tables }) => tables.threads());
  for (const { threadId } of threads) {
    await write("kill", readSets.wholeThread(threadId), ({ tables }) => {
      if (tables.head(threadId) === undefined) sealThread(tables, sealer, threadId);
    });
  }
  await write("kill", readSets.card, ({ tables }) => tables.setCardSeal(sealer.sealHead(card.id, NO_HEAD)));
}
