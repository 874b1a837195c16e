// What the SQLite ledger says of a store whose cells another hand has changed. (codec-3)

import Database from "better-sqlite3";
import { beforeAll, expect, test } from "vitest";
import { createSqliteLedger } from "../../src/adapters/sqlite/ledger.js";
import { ToolgateError } from "../../src/contracts/index.js";
import type { Ledger } from "../../src/ledger/port.js";
import {
  approve,
  askOne,
  OK,
  operation,
  propose,
  read,
  request,
  run,
  send,
  UNKNOWN,
  type World,
  world,
} from "../conformance/ledger-world.js";

const CELLS: Record<string, string[]> = {
  operations: [
    ...["idx", "arguments", "decision", "outcome", "result", "owner", "lease_until", "lease_steady", "acts_until"],
    ...["fence", "attempt", "seq", "sent", "sent_at", "settled_at", "created_at", "resolution", "state", "status"],
    "reason",
  ],
  questions: [
    ...["why", "seen", "injects", "destination", "created_at", "expires_at", "made_elapsed", "verdict", "verdict_at"],
    ...["answered_elapsed", "consumed"],
  ],
  owners: ["body"],
};
const VALUES = [0, 1, "[]", "[1]", "{}", "x", "null", null, 9e15, -9e15, "9e999", Buffer.from("x")];

const unsure = operation({ index: 0 });
const open = operation({ index: 1, decision: "ask" });
const answered = operation({ index: 2, decision: "ask" });
const done = read({ index: 3 });
const sent = read({ index: 4 });

let whole: Buffer;
let at: World;

beforeAll(async () => {
  const db = new Database(":memory:");
  at = await world((deps) => createSqliteLedger(db, deps));
  await propose(at, [unsure, open, answered, done, sent]);
  const destination = { text: "runs `node bank.js`", digest: "a".repeat(64), moved: 0 };
  await askOne(at, open, { injects: ["tenant"], destination });
  await approve(at, answered, { seen: [unsure.id] });
  await send(at, sent);
  const result = { ref: "0".repeat(32), bytes: 4, sha256: "0".repeat(64) };
  await at.ledger.settle({ operationId: done.id, fence: await send(at, done), outcome: OK, sent: true, result });
  await run(at, unsure, UNKNOWN);
  await at.ledger.readBack(unsure.id, { tool: "look", found: "nothing", detail: "no answer" });
  await at.ledger.resolve(unsure.id, "leave", { by: "ann", note: "not yet" });
  whole = db.serialize();
});

/** A ledger on a copy of the store in which this cell of every row holds something else; undefined where SQLite refuses it. */
function damaged(table: string, cell: string, value: unknown): Ledger | undefined {
  const db = new Database(whole);
  try {
    db.prepare(`UPDATE ${table} SET ${cell} = ?`).run(value);
  } catch (error) {
    expect(String(error)).toMatch(/constraint failed/);
    return undefined;
  }
  return createSqliteLedger(db, at.deps);
}

const READS: Record<string, (ledger: Ledger) => Promise<unknown>> = {
  operations: (ledger) => ledger.operations("t1"),
  openRequests: (ledger) => ledger.openRequests(undefined, { answered: true }),
  unknowns: (ledger) => ledger.unknowns(),
  request: async (ledger) => [
    await ledger.request(request(open).approvalId),
    await ledger.request(request(answered, { seen: [unsure.id] }).approvalId),
  ],
};

test("what is not damaged is read whole", async () => {
  const ledger = createSqliteLedger(new Database(whole), at.deps);
  const read = await Promise.all(Object.values(READS).map((of) => of(ledger)));
  expect(read.map((found) => (found as unknown[]).filter(Boolean).length)).toEqual([5, 2, 1, 2]);
});

test.each(Object.entries(CELLS).flatMap(([table, cells]) => cells.map((cell) => [table, cell] as const)))(
  "%s.%s: whatever stands there, no other error than one in words (codec-3)",
  async (table, cell) => {
    for (const value of VALUES) {
      const ledger = damaged(table, cell, value);
      for (const [name, of] of ledger ? Object.entries(READS) : []) {
        const error = await of(ledger as Ledger).then(usable, (thrown: unknown) => thrown);
        if (error === undefined) continue;
        expect(error, `${name} with ${String(value)}`).toBeInstanceOf(ToolgateError);
        expect((error as ToolgateError).code).toBe("store_failed");
      }
    }
  },
);

/** Does with what was read what a report does: every time is shown as a date. Gives the error of it. */
function usable(found: unknown): unknown {
  try {
    JSON.stringify(found, (key, value) => (/(At|Until|^at)$/.test(key) ? new Date(value).toISOString() : value));
  } catch (error) {
    return error;
  }
}

test.each([
  ["questions", "seen", "0", "request", "question approval-"],
  ["questions", "verdict", "{}", "request", "question approval-"],
  ["questions", "created_at", 9e15, "request", "question approval-"],
  ["operations", "outcome", "[]", "operations", `operation ${done.id}`],
  ["operations", "settled_at", null, "unknowns", `operation ${unsure.id}`],
  ["operations", "decision", '{"kind":"ask","rules":0,"reason":""}', "operations", `operation ${open.id}`],
] as const)("%s.%s as %j names its row", async (table, cell, value, reads, named) => {
  const error = (await READS[reads]?.(damaged(table, cell, value) as Ledger).catch(
    (thrown) => thrown,
  )) as ToolgateError;
  expect(error.code).toBe("store_failed");
  expect(error.message).toContain(`the store holds something that toolgate did not write: ${named}`);
  expect(error.message).toMatch(new RegExp(`\`${cell}\`$`));
  expect(error.hint).toBe("restore the store from a backup, or mend that row");
});
