// Writes golden stores with this version of toolgate: what a later version must open, or refuse before anything is sent.
//
//   npx tsx test/golden/write.ts
//
// One folder for each schema version, `v<n>`, with the SQLite file (compressed) and what it was written by. A folder that
// stands is never written again: it is what a released version wrote.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { Command } from "@langchain/langgraph";
import Database from "better-sqlite3";
import { steadyMs } from "../../src/adapters/process/clock.js";
import { createOwner } from "../../src/adapters/process/owner.js";
import { createSqliteLedger } from "../../src/adapters/sqlite/ledger.js";
import { SCHEMA_VERSION } from "../../src/adapters/sqlite/schema.js";
import { STATE_VERSION } from "../../src/graph/state.js";
import { createToolgate } from "../../src/index.js";
import { goldenConfig, goldenModel, say, THREADS, thread, WRITTEN_AT } from "./world.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const command = { command: process.execPath, args: ["--import", "tsx", "test/servers/programs/hostile.ts"], cwd: root };
const target = join(root, "test/golden", `v${SCHEMA_VERSION}`);

async function write(folder: string): Promise<Buffer> {
  const file = join(folder, "toolgate.sqlite");
  let clock = WRITTEN_AT;
  const now = () => ++clock;
  const ledger = createSqliteLedger(file, { now, steady: steadyMs, liveness: createOwner().liveness });
  const cut = { begin: false, settle: false };
  /** The run ends where the host would have died. */
  const cutOff = (at: keyof typeof cut) => {
    if (cut[at]) throw new Error(`cut off at ${at}`);
  };
  const toolgate = await createToolgate({
    config: goldenConfig(folder, command, ""),
    model: goldenModel(),
    now,
    ledger: {
      ...ledger,
      begin: async (...args) => {
        cutOff("begin");
        return ledger.begin(...args);
      },
      settle: async (...args) => {
        cutOff("settle");
        return ledger.settle(...args);
      },
    },
  });
  const [finished, waiting, unknown, claimed, dispatching] = THREADS;

  await say(toolgate, finished, "do act look");
  await say(toolgate, finished, "do pay");
  const [asked] = await toolgate.ledger.requests(finished);
  const resume = { decisions: { [asked?.approvalId ?? ""]: { type: "approve" } } };
  await toolgate.graph.invoke(new Command({ resume }) as never, thread(finished));
  await say(toolgate, waiting, "do pay");
  await say(toolgate, unknown, "do lost");
  for (const [threadId, at] of [
    [claimed, "begin"],
    [dispatching, "settle"],
  ] as const) {
    cut[at] = true;
    await say(toolgate, threadId, "do act").catch(() => undefined);
    cut[at] = false;
  }
  await toolgate.close();
  await ledger.close();

  const db = new Database(file);
  // Nobody's machine: elsewhere and later, leases alone decide, and they have passed.
  db.exec("UPDATE owners SET body = json_set(body, '$.machine', 'golden', '$.pid', 1, '$.started', '')");
  db.pragma("journal_mode = DELETE");
  db.exec("VACUUM");
  db.close();
  return readFileSync(file);
}

if (existsSync(target)) throw new Error(`${target} stands already; a golden store is written once`);
const folder = mkdtempSync(join(tmpdir(), "toolgate-golden-"));
try {
  const bytes = await write(folder);
  mkdirSync(target);
  writeFileSync(join(target, "toolgate.sqlite.gz"), gzipSync(bytes, { level: 9 }));
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const about = { schemaVersion: SCHEMA_VERSION, stateVersion: STATE_VERSION, sha256 };
  writeFileSync(join(target, "about.json"), `${JSON.stringify(about, null, 2)}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
