// Operations in SQLite. Each question is answered by an index of `schema.ts`.

import { isAhead, isRepeat, type OperationRow } from "../../contracts/index.js";
import type { RowTables } from "../../ledger/tables.js";
import { changingCells, identityCells, type Record_, toCell, toRow, toSealedFacts } from "./codec.js";
import type { Sql, Statement } from "./statements.js";

export const ROW_CELLS = "operations.*, threads.key AS thread_id, turns.turn_id, owners.body AS owner_body";
export const ROW_JOINS = `
  JOIN threads ON threads.n = operations.thread
  JOIN turns ON turns.n = operations.turn
  LEFT JOIN owners ON owners.n = operations.owner`;

const OF_THREAD = "operations.thread = (SELECT n FROM threads WHERE key = ?)";
const OF_TURN =
  "operations.turn = (SELECT turns.n FROM turns JOIN threads ON threads.n = turns.thread WHERE threads.key = ? AND turn_id = ?)";
const IN_ORDER = "ORDER BY operations.n";
const SORTED = "ORDER BY +operations.n"; // few of many: found by their index, then sorted, not met in a walk of all
const UNKNOWN = "operations.status = 'result_unknown' AND +operations.effect = 'write'"; // by the index on status
const DISPATCHING = "operations.state <> 'settled' AND operations.state = 'dispatching'"; // names its index's condition

export function rowTables(sql: Sql): RowTables {
  return {
    ...storedRows(sql),
    ...openRows(sql),
    ...guardRows(sql),
    ...rowWriting(sql),
    ...leases(sql),
    ...sealedRows(sql),
  };
}

/** Rows by their own id, by the response that proposed them, and by thread or turn. */
function storedRows(sql: Sql): Pick<RowTables, "row" | "rowsOfProposal" | "rowsOfThread"> {
  const byId = select(sql, "operations.id = ?");
  const byProposal = select(sql, `operations.proposal_id = ? ${IN_ORDER}`);
  const byThread = select(
    sql,
    `operations.turn IN (SELECT turns.n FROM turns JOIN threads ON threads.n = turns.thread WHERE threads.key = ?) ${IN_ORDER}`,
  );
  const byTurn = select(sql, `${OF_TURN} ${IN_ORDER}`);
  return {
    row: (operationId) => {
      const record = byId.one(toCell(operationId));
      return record && toRow(record);
    },
    rowsOfProposal: (proposalId) => rows(byProposal.all(toCell(proposalId))),
    rowsOfThread: (threadId, turnId) =>
      rows(turnId === undefined ? byThread.all(toCell(threadId)) : byTurn.all(toCell(threadId), toCell(turnId))),
  };
}

/** Rows that a run has in hand, and writes that are unknown, with how far each of these halts. */
function openRows(
  sql: Sql,
): Pick<RowTables, "dispatching" | "inHand" | "unknownWrites" | "haltScope" | "setHaltScope"> {
  const dispatchingOfThread = select(sql, `${DISPATCHING} AND ${OF_THREAD} ${IN_ORDER}`);
  const dispatchingOfAll = select(sql, `${DISPATCHING} ${SORTED}`);
  const inHandOfThread = select(
    sql,
    `operations.state <> 'settled' AND operations.state IN ('claimed', 'dispatching') AND ${OF_THREAD} ${IN_ORDER}`,
  );
  const unknownOfThread = select(sql, `${UNKNOWN} AND ${OF_THREAD} ${IN_ORDER}`);
  const unknownOfAll = select(sql, `${UNKNOWN} ${SORTED}`);
  const getHaltScope = sql.prepare("SELECT halt_scope FROM operations WHERE id = ?");
  const setHaltScope = sql.prepare("UPDATE operations SET halt_scope = ? WHERE id = ?");
  return {
    dispatching: (threadId) =>
      rows(threadId === undefined ? dispatchingOfAll.all() : dispatchingOfThread.all(toCell(threadId))),
    inHand: (threadId) => rows(inHandOfThread.all(toCell(threadId))),
    unknownWrites: (threadId) =>
      rows(threadId === undefined ? unknownOfAll.all() : unknownOfThread.all(toCell(threadId))),
    haltScope: (operationId) => (getHaltScope.one(toCell(operationId))?.halt_scope === "server" ? "server" : "thread"),
    setHaltScope: (operationId, scope) => {
      setHaltScope.run(scope, toCell(operationId));
    },
  };
}

/** Rows that the guards ask for: identical writes, writes that are ahead, and what a person rejected in the turn. */
function guardRows(sql: Sql): Pick<RowTables, "identicalWrites" | "writesAfter" | "rejectedByPerson"> {
  const identical = select(
    sql,
    `operations.effect = 'write' AND ${OF_THREAD} AND operations.arguments_digest = ?
     AND operations.server IS ? AND operations.tool IS ? ${IN_ORDER}`,
  );
  const after = select(
    sql,
    `operations.seq > ? AND ${OF_THREAD} AND operations.effect = 'write' ORDER BY operations.seq`,
  );
  const rejected = select(
    sql,
    `operations.reason = 'person' AND operations.status = 'rejected' AND ${OF_TURN} ${IN_ORDER}`,
  );
  return {
    identicalWrites: (threadId, { server, tool, argumentsDigest }) =>
      rows(
        identical.all(
          toCell(threadId),
          toCell(argumentsDigest),
          server === null ? null : toCell(server),
          tool === null ? null : toCell(tool),
        ),
      ).filter(isRepeat),
    writesAfter: (threadId, seq) => rows(after.all(seq, toCell(threadId))).filter(isAhead),
    rejectedByPerson: (threadId, turnId) => rows(rejected.all(toCell(threadId), toCell(turnId))),
  };
}

function rowWriting(sql: Sql): Pick<RowTables, "putRow"> {
  const numberOf = sql.prepare("SELECT n FROM operations WHERE id = ?");
  const insert = lazily((cells: readonly string[]) =>
    sql.prepare(`INSERT INTO operations (${cells.join(", ")}) VALUES (${cells.map((name) => `@${name}`).join(", ")})`),
  );
  const update = lazily((cells: readonly string[]) =>
    sql.prepare(`UPDATE operations SET ${cells.map((name) => `${name} = @${name}`).join(", ")} WHERE n = @n`),
  );
  return {
    putRow: (row) => {
      const owner = row.state === "proposed" || row.owner === undefined ? null : sql.owner(row.owner);
      const changing = changingCells(row, owner);
      const known = numberOf.one(toCell(row.operation.id));
      if (known) {
        update(Object.keys(changing)).run({ ...changing, n: Number(known.n) });
        return;
      }
      const thread = sql.thread(row.threadId);
      const cells = { ...identityCells(row, thread, sql.turn(thread, row.turnId)), ...changing };
      insert(Object.keys(cells)).run(cells);
    },
  };
}

/** An owner that still lives extends the leases of its rows and of the threads it holds. */
function leases(sql: Sql): Pick<RowTables, "renew"> {
  const renew = sql.prepare(
    `UPDATE operations SET lease_until = ?, lease_steady = ?
     WHERE state <> 'settled' AND state IN ('claimed', 'dispatching') AND owner = ?`,
  );
  const renewHeld = sql.prepare("UPDATE threads SET holder_until = ?, holder_steady = ? WHERE holder = ?");
  return {
    renew: (owner, { leaseUntil, leaseSteady = null }) => {
      const number = sql.owner(owner);
      return renew.run(leaseUntil, leaseSteady, number) + renewHeld.run(leaseUntil, leaseSteady, number) > 0;
    },
  };
}

/** What a thread's head is compared with, when a run takes the thread. */
function sealedRows(sql: Sql): Pick<RowTables, "seals"> {
  const sealsOfThread = sql.prepare(
    `SELECT operations.id, arguments_digest, scope, effect, server, tool, state, status, reason, sent, fence, attempt, seq, seal
     FROM operations JOIN turns ON turns.n = operations.turn AND turns.thread = operations.thread WHERE ${OF_THREAD}`,
  );
  const proposalsOfThread = sql.prepare(
    `SELECT count(model_requests.proposal_id) AS count FROM model_requests
     WHERE turn IN (SELECT turns.n FROM turns JOIN threads ON threads.n = turns.thread WHERE threads.key = ?)`,
  );
  return {
    seals: (threadId) => ({
      rows: sealsOfThread.all(toCell(threadId)).map((record) => toSealedFacts(threadId, record)),
      proposals: Number(proposalsOfThread.one(toCell(threadId))?.count),
    }),
  };
}

function select(sql: Sql, where: string): Statement {
  return sql.prepare(`SELECT ${ROW_CELLS} FROM operations ${ROW_JOINS} WHERE ${where}`);
}

function rows<Row extends OperationRow>(records: Record_[]): Row[] {
  return records.map((record) => toRow(record) as Row);
}

/** The columns are the same each time: one statement, made when it is first needed. */
function lazily<A, R>(make: (input: A) => R): (input: A) => R {
  let made: R | undefined;
  return (input) => {
    made ??= make(input);
    return made;
  };
}
