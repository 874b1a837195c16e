// What the SQLite store keeps, it keeps whole; and what it costs.

import Database from "better-sqlite3";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSqliteLedger } from "../../src/adapters/sqlite/ledger.js";
import { openStore } from "../../src/adapters/sqlite/open.js";
import { sqliteTables } from "../../src/adapters/sqlite/tables.js";
import { type OperationRow, sha256, type Verdict } from "../../src/contracts/index.js";
import type { ModelRequestRecord } from "../../src/ledger/port.js";
import type { Question, Tables } from "../../src/ledger/tables.js";
import { modelRequests, questionsAbout, rows } from "./ledger-values.js";
import { OK, operation, propose, query, run, SNAPSHOT, type World, world } from "./ledger-world.js";

/** Runs a property's body on tables that are empty each time. */
function onEmptyTables<T>(body: (tables: Tables, value: T) => void): (value: T) => void {
  const db = openStore(new Database(":memory:"));
  const tables = sqliteTables(db);
  return (value) => {
    db.exec("BEGIN");
    try {
      body(tables, value);
    } finally {
      db.exec("ROLLBACK");
    }
  };
}
const runs = { numRuns: 200 };

interface Asked {
  row: OperationRow;
  question: Question;
  verdict: Verdict;
  elapsed: number;
}

// Saving the state dropped the approval's id, and after a restart the answer fitted no question.
describe("SQLite store: load(save(x)) equals x", () => {
  it("for rows, inserted and written over (codec-1)", () => {
    fc.assert(
      fc.property(
        fc.tuple(rows, rows),
        onEmptyTables((tables, [first, second]: [OperationRow, OperationRow]) => {
          tables.putRow(first);
          expect(tables.row(first.operation.id)).toEqual(first);
          const { operation: of, threadId, scope, turnId, createdAt } = first;
          const { alias, server, tool, effect, decision } = second.operation;
          const changed = { ...second, operation: { ...of, alias, server, tool, effect, decision } };
          const after = { ...changed, threadId, scope, turnId, createdAt };
          tables.putRow(after);
          expect(tables.row(of.id)).toEqual(after);
          expect(tables.rowsOfThread(threadId, turnId)).toEqual([after]);
        }),
      ),
      runs,
    );
  });

  it("for questions and verdicts, whatever a verdict says (codec-1) (codec-2)", () => {
    const asked = rows.chain((row) => questionsAbout(row).map((one) => ({ row, ...one })));
    fc.assert(
      fc.property(
        asked,
        onEmptyTables((tables, { row, question, verdict, elapsed }: Asked) => {
          tables.putRow(row);
          tables.addQuestion(question);
          expect(tables.question(question.request.approvalId)).toEqual(question);
          const answeredAt = { at: elapsed + 1, elapsed };
          tables.setVerdict(question.request.approvalId, verdict, answeredAt);
          const answered = { ...question, verdict, answered: answeredAt };
          expect(tables.currentQuestion(row.operation.id)).toEqual(answered);
          tables.consume(question.request.approvalId);
          expect(tables.question(question.request.approvalId)).toEqual({ ...answered, consumed: true });
        }),
      ),
      runs,
    );
  });

  it("for model requests and proposals (codec-2)", () => {
    fc.assert(
      fc.property(
        modelRequests,
        onEmptyTables((tables, record: ModelRequestRecord) => {
          expect(tables.addModelRequest(record)).toBe(true);
          expect(tables.modelRequests(record.threadId, record.turnId)).toEqual([record]);
          if (record.proposal) expect(tables.proposal(record.proposal.proposalId)).toEqual(record.proposal);
        }),
      ),
      runs,
    );
  });
});

describe("SQLite store: cost", () => {
  it("400 turns of one call stay small on disk", async () => {
    const db = new Database(":memory:");
    const at = await world((deps) => createSqliteLedger(db, deps));
    const tools = Array.from({ length: 300 }, (_, index) => `mcp__documents__tool_${index}`);
    for (let turn = 0; turn < 400; turn++) {
      const proposalId = sha256(`proposal ${turn}`).slice(0, 32);
      await oneTurn(at, proposalId, `turn-${turn}`, turn, tools);
    }
    const pages = Number(db.pragma("page_count", { simple: true }));
    expect(pages * Number(db.pragma("page_size", { simple: true }))).toBeLessThan(1_000_000);
  });

  it("no question about a thread or a turn reads a whole table (tables-2)", () => {
    const db = openStore(new Database(":memory:"));
    const prepared: string[] = [];
    const prepare = db.prepare.bind(db);
    const spied = Object.assign(Object.create(db) as Database.Database, {
      prepare: (text: string) => {
        prepared.push(text);
        return prepare(text);
      },
    });
    const tables = sqliteTables(spied);
    tables.putRow(fc.sample(rows, 1)[0] as OperationRow);
    expect(prepared.length).toBeGreaterThan(40);
    const scans = prepared
      .flatMap((text) => {
        const holes = (text.match(/\?/g) ?? []).map(() => null);
        const named = Object.fromEntries((text.match(/@\w+/g) ?? []).map((name) => [name.slice(1), null]));
        const plan = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...(Object.keys(named).length > 0 ? [named] : holes));
        return plan.map((step) => (step as { detail: string }).detail);
      })
      .filter((detail) => detail.startsWith("SCAN") && !detail.startsWith("SCAN CONSTANT"));
    expect([...new Set(scans)].sort()).toEqual([
      "SCAN card", // it has one row
      "SCAN clock",
      "SCAN operations USING INDEX operations_unknown",
      "SCAN threads",
    ]);
  });
});

async function oneTurn(at: World, proposalId: string, turnId: string, turn: number, tools: string[]): Promise<void> {
  const save = operation({ proposalId, args: { filename: `report-${turn}.md`, content: `report number ${turn}` } });
  const where = { turnId, ledgerSeq: turn };
  at.clock.now += 1_000;
  await propose(at, [save], where);
  await at.ledger.standing(query([save], where));
  await run(at, save, OK, where);
  const last = { requestId: `answer-${turn}`, threadId: "t1", turnId, snapshotId: SNAPSHOT, tools };
  await at.ledger.propose({ ...last, startedAt: at.clock.now, endedAt: at.clock.now, final: false });
}
