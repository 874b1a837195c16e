// Results in Postgres. (results-1, results-2, results-3)
//
// Equal bodies are kept once, however many threads got them, and compressed where that saves room. A lone surrogate has
// no UTF-8 and comes back as U+FFFD; observation takes them out before.

import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { ResultRef } from "../../contracts/index.js";
import { bodyOf, referenceTo } from "../../observation/reference.js";
import type { ResultStore } from "../../observation/results.js";
import type { Connection } from "./connection.js";
import { key } from "./keys.js";

/** Smaller bodies are kept as they are. */
const COMPRESS_BYTES = 1_024;

const compress = promisify(gzip);
const expand = promisify(gunzip);

const PUT = `WITH body AS (INSERT INTO toolgate_bodies (sha256, coding, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING)
  INSERT INTO toolgate_results (ref, thread, sha256) VALUES ($4, $5, $1) ON CONFLICT DO NOTHING`;
const READ = `SELECT coding, body FROM toolgate_results JOIN toolgate_bodies USING (sha256) WHERE ref = $1 AND thread = $2`;
/** The references go last: they say which bodies are meant. */
const FORGET_BODIES = `DELETE FROM toolgate_bodies WHERE sha256 IN (SELECT sha256 FROM toolgate_results WHERE thread = $1)
  AND NOT EXISTS (SELECT FROM toolgate_results other WHERE other.sha256 = toolgate_bodies.sha256 AND other.thread <> $1)`;
const FORGET = "DELETE FROM toolgate_results WHERE thread = $1";

/** A result store on a connection. Both methods may reject with `store_failed`. */
export function postgresResults(connection: Connection): ResultStore {
  return {
    put: async (threadId, body): Promise<ResultRef> => {
      const bytes = Buffer.from(body, "utf8");
      const reference = referenceTo(threadId, bytes);
      const zipped = bytes.length <= COMPRESS_BYTES ? bytes : await compress(bytes);
      const stored = zipped.length < bytes.length ? ["gzip", zipped] : ["utf8", bytes];
      const names = [Buffer.from(reference.ref, "hex"), key(threadId)];
      await connection.ready();
      await connection.query(PUT, [Buffer.from(reference.sha256, "hex"), ...stored, ...names]); // twice is as once
      return reference;
    },
    forget: async (threadId) => {
      await connection.ready();
      await connection.query(FORGET_BODIES, [key(threadId)]); // twice is as once
      await connection.query(FORGET, [key(threadId)]);
    },
    read: async (threadId, ref) => {
      if (!/^[0-9a-f]{32}$/.test(ref)) return undefined;
      await connection.ready();
      const [found] = await connection.query(READ, [Buffer.from(ref, "hex"), key(threadId)]);
      if (!found) return undefined;
      const body = found.body as Buffer;
      return bodyOf(threadId, ref, () => (found.coding === "gzip" ? expand(body) : body));
    },
  };
}
