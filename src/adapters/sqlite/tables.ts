// The tables in SQLite: the clock, threads and turns, model requests and snapshots. Operations and questions have files
// of their own.

import { gunzipSync, gzipSync } from "node:zlib";
import type { Database } from "better-sqlite3";
import { type Digest, type Owner, type Proposal, type SnapshotBody, sha256 } from "../../contracts/index.js";
import type { ModelRequestRecord } from "../../ledger/port.js";
import { NO_TURN, type Tables } from "../../ledger/tables.js";
import { type Cell, difference, fromCell, type Record_, restoredProposal, toCell } from "./codec.js";
import { questionTables } from "./questions.js";
import { rowTables } from "./rows.js";
import { type Sql, statements } from "./statements.js";

export function sqliteTables(db: Database): Tables {
  const sql = statements(db);
  return {
    ...clockTables(sql),
    ...threadTables(sql),
    ...scopeTables(sql),
    ...snapshotTables(sql),
    ...requestTables(sql),
    ...rowTables(sql),
    ...questionTables(sql),
    ...sealTables(sql),
  };
}

function sealTables(
  sql: Sql,
): Pick<Tables, "card" | "setCardSeal" | "setSends" | "head" | "setHead" | "setAccepted" | "setForgotten"> {
  const card = sql.prepare("SELECT id, seal, sends FROM card");
  const setSends = sql.prepare("UPDATE card SET sends = ?");
  const setCardSeal = sql.prepare("UPDATE card SET seal = ?");
  const head = sql.prepare("SELECT head FROM threads WHERE key = ?");
  const setHead = sql.prepare("UPDATE threads SET head = ? WHERE n = ?");
  const setForgotten = sql.prepare("UPDATE threads SET forgotten = ? WHERE n = ?");
  const setAccepted = sql.prepare("UPDATE threads SET accepted = ? WHERE n = ?");
  return {
    card: () => {
      const { id, seal, sends } = card.one() ?? {};
      return { id: String(id), sends: Number(sends), ...(typeof seal === "string" ? { seal } : {}) };
    },
    setSends: (sends) => {
      setSends.run(sends);
    },
    setCardSeal: (seal) => {
      setCardSeal.run(seal);
    },
    head: (threadId) => {
      const found = head.one(toCell(threadId))?.head;
      return typeof found === "string" ? found : undefined;
    },
    setHead: (threadId, text) => {
      setHead.run(text, sql.thread(threadId));
    },
    setForgotten: (threadId, at) => {
      setForgotten.run(at, sql.thread(threadId));
    },
    setAccepted: (threadId, said) => {
      setAccepted.run(JSON.stringify(said), sql.thread(threadId));
    },
  };
}

function clockTables(sql: Sql): Pick<Tables, "clock" | "setClock"> {
  const read = sql.prepare("SELECT at, elapsed FROM clock");
  const write = sql.prepare("INSERT OR REPLACE INTO clock (one, at, elapsed) VALUES (1, ?, ?)");
  return {
    clock: () => {
      const record = read.one();
      return record && { at: Number(record.at), elapsed: Number(record.elapsed) };
    },
    setClock: ({ at, elapsed }) => {
      write.run(at, elapsed);
    },
  };
}

function threadTables(sql: Sql): Pick<Tables, "touch" | "nextSeq" | "holder" | "setHolder" | "turn" | "addToTurn"> {
  const touch = sql.prepare("UPDATE threads SET last_at = ? WHERE n = ?");
  const count = sql.prepare("UPDATE threads SET last_seq = last_seq + 1 WHERE n = ?");
  const lastSeq = sql.prepare("SELECT last_seq FROM threads WHERE n = ?");
  const holder = sql.prepare(
    `SELECT owners.body, threads.holder_until, threads.holder_steady FROM threads
     JOIN owners ON owners.n = threads.holder WHERE threads.key = ?`,
  );
  const setHolder = sql.prepare("UPDATE threads SET holder = ?, holder_until = ?, holder_steady = ? WHERE n = ?");
  const turn = sql.prepare(
    "SELECT turns.* FROM turns JOIN threads ON threads.n = turns.thread WHERE threads.key = ? AND turn_id = ?",
  );
  const add = sql.prepare(
    `UPDATE turns SET model_requests = model_requests + ?, calls = calls + ?, writes = writes + ?,
     active_ms = active_ms + ?, budget_spent = max(budget_spent, ?), final_made = max(final_made, ?) WHERE n = ?`,
  );
  return {
    touch: (threadId, at) => {
      touch.run(at, sql.thread(threadId));
    },
    nextSeq: (threadId) => {
      const number = sql.thread(threadId);
      count.run(number);
      return Number(lastSeq.one(number)?.last_seq);
    },
    holder: (threadId) => {
      const record = holder.one(toCell(threadId));
      if (record === undefined) return undefined;
      const { body, holder_until: until, holder_steady: steady } = record;
      const owner = JSON.parse(String(body)) as Owner;
      return { owner, leaseUntil: Number(until), ...(steady === null ? {} : { leaseSteady: Number(steady) }) };
    },
    setHolder: (threadId, held) => {
      const owner = held === undefined ? null : sql.owner(held.owner);
      setHolder.run(owner, held?.leaseUntil ?? null, held?.leaseSteady ?? null, sql.thread(threadId));
    },
    turn: (threadId, turnId) => {
      const record = turn.one(toCell(threadId), toCell(turnId));
      if (!record) return NO_TURN;
      return {
        modelRequests: Number(record.model_requests),
        calls: Number(record.calls),
        writes: Number(record.writes),
        activeMs: Number(record.active_ms),
        budgetSpent: record.budget_spent === 1,
        finalMade: record.final_made === 1,
      };
    },
    addToTurn: (threadId, turnId, more) => {
      const { modelRequests = 0, calls = 0, writes = 0, activeMs = 0, budgetSpent = false, finalMade = false } = more;
      const number = sql.turn(sql.thread(threadId), turnId);
      add.run(modelRequests, calls, writes, activeMs, Number(budgetSpent), Number(finalMade), number);
    },
  };
}

function scopeTables(sql: Sql): Pick<Tables, "threads" | "scope" | "setScope"> {
  const threads = sql.prepare(
    `SELECT key, scope, last_at FROM threads WHERE forgotten IS NULL OR forgotten < last_at ORDER BY last_at DESC, n DESC`,
  );
  const scope = sql.prepare("SELECT scope FROM threads WHERE key = ?");
  const setScope = sql.prepare("UPDATE threads SET scope = ? WHERE n = ?");
  return {
    threads: () =>
      threads.all().map((record) => ({
        threadId: fromCell(record.key),
        scope: toScope(record.scope),
        lastAt: Number(record.last_at),
      })),
    scope: (threadId) => toScope(scope.one(toCell(threadId))?.scope),
    setScope: (threadId, of) => {
      setScope.run(toCell(of), sql.thread(threadId));
    },
  };
}

function toScope(cell: Cell | undefined): string | undefined {
  return cell === null || cell === undefined ? undefined : fromCell(cell);
}

function snapshotTables(sql: Sql): Pick<Tables, "addSnapshot" | "hasSnapshot" | "snapshot"> {
  const addSnapshot = sql.prepare("INSERT OR IGNORE INTO snapshots (id, body) VALUES (?, ?)");
  const hasSnapshot = sql.prepare("SELECT 1 FROM snapshots WHERE id = ?");
  const snapshot = sql.prepare("SELECT body FROM snapshots WHERE id = ?");
  return {
    addSnapshot: (body) => {
      addSnapshot.run(toCell(body.id), gzipSync(JSON.stringify(body)));
    },
    hasSnapshot: (id) => hasSnapshot.one(toCell(id)) !== undefined,
    snapshot: (id: Digest) => {
      const body = snapshot.one(toCell(id))?.body;
      return Buffer.isBuffer(body) ? (JSON.parse(gunzipSync(body).toString("utf8")) as SnapshotBody) : undefined;
    },
  };
}

function requestTables(sql: Sql): Pick<Tables, "addModelRequest" | "modelRequests" | "proposal" | "putProposal"> {
  const putProposal = sql.prepare("UPDATE model_requests SET proposal = ? WHERE proposal_id = ?");
  const known = sql.prepare("SELECT 1 FROM model_requests WHERE request_id = ?");
  const add = sql.prepare(
    `INSERT INTO model_requests
     (request_id, turn, snapshot_id, tools, started_at, ended_at, final, proposal_id, proposal)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const joins = "JOIN turns ON turns.n = model_requests.turn JOIN threads ON threads.n = turns.thread";
  const requests = (where: string) =>
    sql.prepare(
      `SELECT model_requests.*, turns.turn_id, threads.key AS thread_id, tool_lists.body AS tool_list
       FROM model_requests ${joins} JOIN tool_lists ON tool_lists.n = model_requests.tools
       WHERE ${where} ORDER BY model_requests.n`,
    );
  const ofTurn = requests("threads.key = ? AND turn_id = ?");
  const ofThread = requests("threads.key = ?");
  // Without the list of tools: a proposal is read at every step, and a catalog may be large.
  const byProposal = sql.prepare(
    `SELECT model_requests.*, turns.turn_id, threads.key AS thread_id FROM model_requests ${joins} WHERE proposal_id = ?`,
  );
  return {
    addModelRequest: (record) => {
      if (known.one(toCell(record.requestId))) return false;
      const { proposal, threadId, turnId, snapshotId } = record;
      const fresh = proposal !== undefined && !byProposal.one(toCell(proposal.proposalId));
      add.run(
        toCell(record.requestId),
        sql.turn(sql.thread(threadId), turnId),
        toCell(snapshotId),
        sql.toolList(sha256(JSON.stringify(record.tools)), record.tools),
        record.startedAt,
        record.endedAt,
        Number(record.final),
        fresh ? toCell(proposal.proposalId) : null,
        fresh ? difference({ threadId, turnId, snapshotId, proposalId: proposal.proposalId }, proposal) : null,
      );
      return true;
    },
    modelRequests: (threadId, turnId) =>
      (turnId === undefined ? ofThread.all(toCell(threadId)) : ofTurn.all(toCell(threadId), toCell(turnId))).map(
        toModelRequest,
      ),
    putProposal: (proposal) => {
      const { proposalId, threadId, turnId, snapshotId } = proposal;
      putProposal.run(difference({ threadId, turnId, snapshotId, proposalId }, proposal), toCell(proposalId));
    },
    proposal: (proposalId) => {
      const record = byProposal.one(toCell(proposalId));
      return record && toProposal(record);
    },
  };
}

function toModelRequest(record: Record_): ModelRequestRecord {
  const proposal = toProposal(record);
  return {
    requestId: fromCell(record.request_id),
    threadId: fromCell(record.thread_id),
    turnId: fromCell(record.turn_id),
    snapshotId: fromCell(record.snapshot_id),
    tools: JSON.parse(String(record.tool_list)) as string[],
    startedAt: Number(record.started_at),
    endedAt: Number(record.ended_at),
    final: record.final === 1,
    ...(proposal === undefined ? {} : { proposal }),
  };
}

function toProposal(record: Record_): Proposal | undefined {
  if (record.proposal === null) return undefined;
  const around = {
    threadId: fromCell(record.thread_id),
    turnId: fromCell(record.turn_id),
    snapshotId: fromCell(record.snapshot_id),
    proposalId: fromCell(record.proposal_id ?? ""),
  };
  return restoredProposal(around, JSON.parse(String(record.proposal))) as Proposal;
}
