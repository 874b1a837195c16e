// Results in SQLite, in the ledger's file. (results-1, results-2, results-3)
//
// Equal bodies are kept once, however many threads got them, and compressed where that saves room. A lone surrogate has
// no UTF-8 and comes back as U+FFFD; observation takes them out before.

import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type Database from "better-sqlite3";
import type { ResultRef } from "../../contracts/index.js";
import type { Survives } from "../../ledger/port.js";
import { bodyOf, referenceTo } from "../../observation/reference.js";
import type { ResultStore } from "../../observation/results.js";
import { committing, reading } from "./commit.js";
import { openStore } from "./open.js";

/** Smaller bodies are kept as they are. */
const COMPRESS_BYTES = 1_024;

const compress = promisify(gzip);
const expand = promisify(gunzip);

/**
 * A result store in an open database. Migrates it. Throws `store_failed`, `store_version`; both methods may reject so.
 * `survives`: what a body outlives when `put` resolves. "kill" is enough where the ledger that settles after it is in the
 * same file. @default "power-loss"
 */
export function createSqliteResults(db: Database.Database, survives: Survives = "power-loss"): ResultStore {
  openStore(db);
  const commit = committing(db);
  const find = db.prepare<[Buffer], { n: number }>("SELECT n FROM bodies WHERE sha256 = ?");
  const addBody = db.prepare("INSERT OR IGNORE INTO bodies (sha256, coding, body) VALUES (?, ?, ?)");
  const addReference = db.prepare(
    "INSERT OR IGNORE INTO results (ref, thread_id, body) SELECT ?, ?, n FROM bodies WHERE sha256 = ?",
  );
  const takeOut = db.prepare("DELETE FROM results WHERE thread_id = ? RETURNING body");
  const dropBody = db.prepare(
    "DELETE FROM bodies WHERE n = ? AND NOT EXISTS (SELECT 1 FROM results WHERE body = bodies.n)",
  );
  const select = db.prepare<[Buffer, string], { coding: string; body: Buffer }>(
    "SELECT coding, bodies.body FROM results JOIN bodies ON bodies.n = results.body WHERE ref = ? AND thread_id = ?",
  );
  return {
    put: async (threadId, body): Promise<ResultRef> => {
      const bytes = Buffer.from(body, "utf8");
      const reference = referenceTo(threadId, bytes);
      const sha256 = Buffer.from(reference.sha256, "hex");
      const known = (await reading(db, () => find.get(sha256))) !== undefined;
      const zipped = known || bytes.length <= COMPRESS_BYTES ? bytes : await compress(bytes);
      const stored = zipped.length < bytes.length ? { coding: "gzip", body: zipped } : { coding: "utf8", body: bytes };
      await commit(survives, () => {
        if (!known) addBody.run(sha256, stored.coding, stored.body);
        addReference.run(Buffer.from(reference.ref, "hex"), threadId, sha256);
      });
      return reference;
    },
    forget: async (threadId) =>
      commit("power-loss", () => {
        const own = takeOut.all(threadId) as { body: number }[];
        for (const { body } of own) dropBody.run(body);
      }),
    read: async (threadId, ref) => {
      if (!/^[0-9a-f]{32}$/.test(ref)) return undefined;
      const found = await reading(db, () => select.get(Buffer.from(ref, "hex"), threadId));
      if (!found) return undefined;
      return bodyOf(threadId, ref, () => (found.coding === "gzip" ? expand(found.body) : found.body));
    },
  };
}
