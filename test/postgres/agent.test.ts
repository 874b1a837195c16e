// Whole agents on Postgres: a real server process, the wired store, and connections that end at the worst moment.

import { gunzipSync } from "node:zlib";
import pg from "pg";
import { beforeEach, describe, expect, test } from "vitest";
import { openPostgres } from "../../src/adapters/postgres/open.js";
import { steadyMs } from "../../src/adapters/process/clock.js";
import { createOwner } from "../../src/adapters/process/owner.js";
import type { Ledger } from "../../src/ledger/port.js";
import { type Agent, bench, type Steps, stdio, type Turn } from "../support/agent.js";
import { forgetting } from "../support/forgetting.js";
import { onePostgres } from "../support/one-postgres.js";

const b = bench();
const server = onePostgres();
let url: string;
beforeEach(async () => {
  url = await server().freshSchema();
});

const trigger = (environment: string) => ({
  calls: [{ name: "mcp__deploy__trigger", args: { environment }, id: `trigger-${environment}` }],
});
const DONE = { say: "Done." };
const ASKING = { ask: ["mcp__deploy__trigger"] };
const ALLOWING = { allow: ["mcp__deploy__trigger"] };

function start(steps: Steps, permissions: object, options: object = {}): Promise<Agent> {
  return b.start({
    config: {
      store: { kind: "postgres", url },
      mcpServers: { deploy: stdio("deploy", { SERVER_LOG: b.logPath() }) },
      permissions,
    },
    steps,
    options,
  });
}

const effects = () => b.log("effect").length;
const outcomes = (turn: Turn) => turn.report.operations.map((one) => `${one.callId} ${one.status} ${one.reason}`);
const approve = (turn: Turn) => ({
  decisions: Object.fromEntries(turn.report.approvals.map((one) => [one.approvalId, { type: "approve" }])),
});

async function terminate(): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const ended = await client.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'toolgate' AND datname = current_database()",
  );
  await client.end();
  return ended.rows.length;
}

/** A ledger whose connections are all ended before each of its steps. */
async function ending(steps: readonly (keyof Ledger)[]) {
  const stores = openPostgres(url, { now: Date.now, steady: steadyMs, liveness: createOwner().liveness });
  const ledger = { ...stores.ledger };
  const ended: string[] = [];
  for (const name of steps) {
    const call = ledger[name] as (...args: unknown[]) => Promise<unknown>;
    Object.assign(ledger, {
      [name]: async (...args: unknown[]) => {
        if ((await terminate()) > 0) ended.push(name);
        return call(...args);
      },
    });
  }
  return { ...stores, ledger, ended };
}

describe("an agent on Postgres", () => {
  test("asks, is answered by another host after the first is gone, and runs once", async () => {
    const first = await start([trigger("staging")], ASKING);
    const asked = await first.ask("deploy it");
    expect(asked.report.approvals).toHaveLength(1);
    await first.toolgate.close();
    const second = await start([trigger("staging"), DONE], ASKING);
    const answered = await second.resume(approve(asked));
    expect(outcomes(answered)).toEqual(["trigger-staging ok success"]);
    expect(answered.lines.at(-1)).toBe("ai: Done.");
    expect(effects()).toBe(1);
    const again = await start([], ASKING);
    expect((await again.state()).next).toEqual([]);
    expect(await again.toolgate.ledger.operations("t1")).toHaveLength(1);
    expect(effects()).toBe(1);
  });

  // A pool kept connections that had died, and the next checkpoint could not be written.
  test("connections ended between each step: between the result and its record, above all", async () => {
    const steps = ["propose", "standing", "claim", "begin", "settle"] as const;
    const { ledger, checkpointer, ended, close } = await ending(steps);
    const agent = await start([trigger("staging"), DONE], ALLOWING, { ledger, checkpointer });
    const turn = await agent.ask("deploy it");
    expect(outcomes(turn)).toEqual(["trigger-staging ok success"]);
    expect(effects()).toBe(1);
    expect([...new Set(ended)].sort()).toEqual([...steps].sort());
    await agent.toolgate.close();
    await close();
  });
});

describe("forgetting a thread", () => {
  /** Every cell of every table, unpacked where it is packed. */
  async function raw(): Promise<string> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const named = await client.query("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()");
    const cells: unknown[] = [];
    for (const { tablename } of named.rows as { tablename: string }[]) {
      for (const row of (await client.query(`SELECT * FROM "${tablename}"`)).rows) cells.push(...Object.values(row));
    }
    await client.end();
    return cells.map(textOf).join("\n");
  }
  async function older(ms: number): Promise<void> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query("UPDATE toolgate_threads SET last_at = last_at - $1, version = version + 1", [ms]);
    await client.end();
  }
  forgetting(b, () => ({ kind: "postgres", url }), raw, older);
});

function textOf(cell: unknown): string {
  if (!Buffer.isBuffer(cell)) return typeof cell === "object" ? JSON.stringify(cell) : String(cell);
  try {
    return gunzipSync(cell).toString("utf8");
  } catch {
    return cell.toString("utf8");
  }
}
