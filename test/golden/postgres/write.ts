// Writes the golden store of Postgres with this version of toolgate: what a later version must open, or refuse before
// anything is sent.
//
//   npx tsx test/golden/postgres/write.ts
//
// One folder for each schema version, `p<n>`, with a dump (compressed) and what it was written by. A folder that stands is
// never written again: it is what a released version wrote.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { Command } from "@langchain/langgraph";
import { ownerKey } from "../../../src/adapters/postgres/keys.js";
import { openPostgres } from "../../../src/adapters/postgres/open.js";
import { SCHEMA_VERSION } from "../../../src/adapters/postgres/schema.js";
import { steadyMs } from "../../../src/adapters/process/clock.js";
import { createOwner } from "../../../src/adapters/process/owner.js";
import type { Owner } from "../../../src/contracts/index.js";
import { STATE_VERSION } from "../../../src/graph/state.js";
import { createToolgate } from "../../../src/index.js";
import { startPostgres } from "../../support/postgres.js";
import { goldenConfig, goldenModel, say, THREADS, thread, WRITTEN_AT } from "../world.js";
import { connected, type Dump, dumped } from "./dump.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const command = { command: process.execPath, args: ["--import", "tsx", "test/servers/programs/hostile.ts"], cwd: root };
const target = join(root, "test/golden/postgres", `p${SCHEMA_VERSION}`);

async function write(url: string): Promise<Dump> {
  let clock = WRITTEN_AT;
  const now = () => ++clock;
  const stores = openPostgres(url, { now, steady: steadyMs, liveness: createOwner().liveness }, { clock: "host" });
  const { ledger, checkpointer } = stores;
  const cut = { begin: false, settle: false };
  /** The run ends where the host would have died, and gives nothing back. */
  const cutOff = (at: keyof typeof cut) => {
    if (cut[at]) throw new Error(`cut off at ${at}`);
  };
  const toolgate = await createToolgate({
    config: { ...goldenConfig("", command, ""), store: { kind: "postgres", url } },
    model: goldenModel(),
    now,
    checkpointer,
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
      leave: async (...args) => {
        cutOff("begin");
        cutOff("settle");
        return ledger.leave(...args);
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
  await stores.close();
  await disown(url);
  return dumped(url);
}

/** Nobody's machine: elsewhere and later, leases alone decide, and they have passed. */
async function disown(url: string): Promise<void> {
  const nobody = (owner: Owner): Owner => ({ ...owner, machine: "golden", pid: 1, started: "" });
  await connected(url, async (client) => {
    for (const { id, body } of (await client.query("SELECT id, body FROM toolgate_operations WHERE owner IS NOT NULL"))
      .rows) {
      const row = JSON.parse(body);
      const owner = nobody(row.owner);
      const values = [id, JSON.stringify({ ...row, owner }), ownerKey(owner)];
      await client.query("UPDATE toolgate_operations SET body = $2, owner = $3 WHERE id = $1", values);
    }
    for (const { n, holder } of (await client.query("SELECT n, holder FROM toolgate_threads WHERE holder IS NOT NULL"))
      .rows) {
      const owner = nobody(JSON.parse(holder));
      const values = [n, JSON.stringify(owner), ownerKey(owner)];
      await client.query("UPDATE toolgate_threads SET holder = $2, holder_key = $3 WHERE n = $1", values);
    }
  });
}

if (existsSync(target)) throw new Error(`${target} stands already; a golden store is written once`);
const server = await startPostgres();
try {
  const bytes = Buffer.from(JSON.stringify(await write(await server.freshSchema())));
  mkdirSync(target);
  writeFileSync(join(target, "store.json.gz"), gzipSync(bytes, { level: 9 }));
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const about = { schemaVersion: SCHEMA_VERSION, stateVersion: STATE_VERSION, sha256 };
  writeFileSync(join(target, "about.json"), `${JSON.stringify(about, null, 2)}\n`);
} finally {
  await server.stop();
}
