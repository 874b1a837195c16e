// Operations in SQLite. Each question is answered by an index of `schema.ts`.

import { isAhead, isRepeat, type OperationRow } from "../../contracts/index.js";
import type { RowTables } from "../../ledger/tables.js";
import { changingCells, identityCells, type Record_, toCell, toRow, toSealedFacts } from "./codec.js";
import type { Sql } from "./statements.js";

export const ROW_CELLS = "operations.*, threads.key AS thread_id, turns.turn_id, owners.body AS owner_body";
export const ROW_JOINS = `
  JOIN threads ON threads.n = operations.thread
  JOIN turns ON turns.n = operations.turn
  LEFT JOIN owners ON owners.n = operations.owner`;

export function rowTables(sql: Sql): RowTables {
  const select = (where: string) => sql.prepare(`SELECT ${ROW_CELLS} FROM operations ${ROW_JOINS} WHERE ${where}`);
  const ofThread = "operations.thread = (SELECT n FROM threads WHERE key = ?)";
  const ofTurn =
    "operations.turn = (SELECT turns.n FROM turns JOIN threads ON threads.n = turns.thread WHERE threads.key = ? AND turn_id = ?)";
  const inOrder = "ORDER BY operations.n";
  const sorted = "ORDER BY +operations.n"; // few of many: found by their index, then sorted, not met in a walk of all
  const unknown = "operations.status = 'result_unknown' AND +operations.effect = 'write'"; // by the index on status
  const dispatching = "operations.state <> 'settled' AND operations.state = 'dispatching'"; // names its index's condition

  const byId = select("operations.id = ?");
  const byProposal = select(`operations.proposal_id = ? ${inOrder}`);
  const byThread = select(
    `operations.turn IN (SELECT turns.n FROM turns JOIN threads ON threads.n = turns.thread WHERE threads.key = ?) ${inOrder}`,
  );
  const byTurn = select(`${ofTurn} ${inOrder}`);
  const dispatchingOfThread = select(`${dispatching} AND ${ofThread} ${inOrder}`);
  const dispatchingOfAll = select(`${dispatching} ${sorted}`);
  const inHandOfThread = select(
    `operations.state <> 'settled' AND operations.state IN ('claimed', 'dispatching') AND ${ofThread} ${inOrder}`,
  );
  const unknownOfThread = select(`${unknown} AND ${ofThread} ${inOrder}`);
  const unknownOfAll = select(`${unknown} ${sorted}`);
  const identical = select(
    `operations.effect = 'write' AND ${ofThread} AND operations.arguments_digest = ?
     AND operations.server IS ? AND operations.tool IS ? ${inOrder}`,
  );
  const after = select(`operations.seq > ? AND ${ofThread} AND operations.effect = 'write' ORDER BY operations.seq`);
  const rejected = select(`operations.reason = 'person' AND operations.status = 'rejected' AND ${ofTurn} ${inOrder}`);

  const sealsOfThread = sql.prepare(
    `SELECT operations.id, arguments_digest, scope, effect, server, tool, state, status, reason, sent, fence, attempt, seq, seal
     FROM operations JOIN turns ON turns.n = operations.turn AND turns.thread = operations.thread WHERE ${ofThread}`,
  );

  const proposalsOfThread = sql.prepare(
    `SELECT count(model_requests.proposal_id) AS count FROM model_requests
     WHERE turn IN (SELECT turns.n FROM turns JOIN threads ON threads.n = turns.thread WHERE threads.key = ?)`,
  );

  const numberOf = sql.prepare("SELECT n FROM operations WHERE id = ?");
  const insert = lazily((cells: readonly string[]) =>
    sql.prepare(`INSERT INTO operations (${cells.join(", ")}) VALUES (${cells.map((name) => `@${name}`).join(", ")})`),
  );
  const update = lazily((cells: readonly string[]) =>
    sql.prepare(`UPDATE operations SET ${cells.map((name) => `${name} = @${name}`).join(", ")} WHERE n = @n`),
  );
  const getHaltScope = sql.prepare("SELECT halt_scope FROM operations WHERE id = ?");
  const setHaltScope = sql.prepare("UPDATE operations SET halt_scope = ? WHERE id = ?");
  const renew = sql.prepare(
    `UPDATE operations SET lease_until = ?, lease_steady = ?
     WHERE state <> 'settled' AND state IN ('claimed', 'dispatching') AND owner = ?`,
  );
  const renewHeld = sql.prepare("UPDATE threads SET holder_until = ?, holder_steady = ? WHERE holder = ?");
  const rows = <Row extends OperationRow>(records: Record_[]): Row[] => records.map((record) => toRow(record) as Row);

  return {
    row: (operationId) => {
      const record = byId.one(toCell(operationId));
      return record && toRow(record);
    },
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
    rowsOfProposal: (proposalId) => rows(byProposal.all(toCell(proposalId))),
    rowsOfThread: (threadId, turnId) =>
      rows(turnId === undefined ? byThread.all(toCell(threadId)) : byTurn.all(toCell(threadId), toCell(turnId))),
    dispatching: (threadId) =>
      rows(threadId === undefined ? dispatchingOfAll.all() : dispatchingOfThread.all(toCell(threadId))),
    unknownWrites: (threadId) =>
      rows(threadId === undefined ? unknownOfAll.all() : unknownOfThread.all(toCell(threadId))),
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
    haltScope: (operationId) => (getHaltScope.one(toCell(operationId))?.halt_scope === "server" ? "server" : "thread"),
    setHaltScope: (operationId, scope) => {
      setHaltScope.run(scope, toCell(operationId));
    },
    inHand: (threadId) => rows(inHandOfThread.all(toCell(threadId))),
    renew: (owner, { leaseUntil, leaseSteady = null }) => {
      const number = sql.owner(owner);
      return renew.run(leaseUntil, leaseSteady, number) + renewHeld.run(leaseUntil, leaseSteady, number) > 0;
    },
    rejectedByPerson: (threadId, turnId) => rows(rejected.all(toCell(threadId), toCell(turnId))),
    seals: (threadId) => ({
      rows: sealsOfThread.all(toCell(threadId)).map((record) => toSealedFacts(threadId, record)),
      proposals: Number(proposalsOfThread.one(toCell(threadId))?.count),
    }),
  };
}

/** The columns are the same each time: one statement, made when it is first needed. */
function lazily<A, R>(make: (input: A) => R): (input: A) => R {
  let made: R | undefined;
  return (input) => {
    made ??= make(input);
    return made;
  };
}
