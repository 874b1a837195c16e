// The Postgres store: what it keeps it keeps whole, hosts that meet in it agree, and what it costs.

import fc from "fast-check";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { type Connection, connect } from "../../src/adapters/postgres/connection.js";
import { key } from "../../src/adapters/postgres/keys.js";
import { alone } from "../../src/adapters/postgres/schema.js";
import { postgresStore } from "../../src/adapters/postgres/store.js";
import type { Operation, OperationRow, Verdict } from "../../src/contracts/index.js";
import { createLedger } from "../../src/ledger/ledger.js";
import type { ModelRequestRecord } from "../../src/ledger/port.js";
import type { Question, Store, Tables } from "../../src/ledger/tables.js";
import { modelRequests, questionsAbout, rows } from "../conformance/ledger-values.js";
import {
  ACTS,
  approve,
  askOne,
  batch,
  claimOne,
  LEASE,
  OK,
  operation,
  owner,
  propose,
  query,
  read,
  rowOf,
  run,
  SNAPSHOT,
  said,
  send,
  stands,
  UNAVAILABLE,
  UNKNOWN,
  type World,
  world,
} from "../conformance/ledger-world.js";
import { hosts, type PostgresHost } from "./hosts.js";

const LONG = process.env.LONG_TESTS === "1";
const at = hosts();
const fresh = () => at.server().freshSchema();

async function using<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
const ask = (url: string, text: string, values: unknown[] = []) =>
  using(url, async (client) => (await client.query(text, values)).rows as Record<string, unknown>[]);

/** Undoes the second migration. */
const DOWN_TO_1 = `DELETE FROM toolgate_migrations WHERE version = 2; DROP TABLE toolgate_card;
  ALTER TABLE toolgate_threads RENAME COLUMN key TO name;
  ALTER TABLE toolgate_threads DROP COLUMN scope, DROP COLUMN holder_steady, DROP COLUMN head, DROP COLUMN accepted, DROP COLUMN forgotten;
  ALTER TABLE toolgate_requests DROP COLUMN snapshot;
  ALTER TABLE toolgate_operations DROP COLUMN lease_steady`;

describe("migrations", () => {
  it("hosts that start at once make the tables once, and all go on", async () => {
    const url = await fresh();
    const many = Array.from({ length: 6 }, () => at.open(url));
    await Promise.all(
      many.flatMap((host, n) => [
        propose(host, [operation({ proposalId: `p${n}` })], { threadId: `t${n}` }),
        host.checkpointer.getTuple({ configurable: { thread_id: "t" } }),
      ]),
    );
    expect(await many[0]?.ledger.threads()).toHaveLength(6);
    expect(await ask(url, "SELECT version FROM toolgate_migrations")).toEqual([{ version: 1 }, { version: 2 }]);
    expect(await ask(url, "SELECT v FROM checkpoint_migrations ORDER BY v")).toHaveLength(5);
  });

  it("a store of a later version is refused, and nothing in it is changed (postgres-schema-2)", async () => {
    const url = await fresh();
    await ask(url, "CREATE TABLE toolgate_migrations (version int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())");
    await ask(url, "INSERT INTO toolgate_migrations VALUES (7)");
    const host = at.open(url);
    const refused = { code: "store_version", data: { version: 7, supported: 2 } };
    await expect(host.ledger.threads()).rejects.toMatchObject(refused);
    await expect(host.checkpointer.getTuple({ configurable: { thread_id: "t" } })).rejects.toMatchObject(refused);
    await expect(host.results.put("t", "body")).rejects.toMatchObject(refused);
    expect(await ask(url, "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")).toEqual([
      { tablename: "toolgate_migrations" },
    ]);
  });

  // During an upgrade host by host, a host of the version before went on with a database that a newer one had migrated.
  it("a host that is connected while a later version migrates stores nothing more (postgres-schema-3)", async () => {
    const url = await fresh();
    const host = at.open(url);
    const save = operation();
    await propose(host, [save]);
    await host.ledger.claim(batch([save]));
    await ask(url, "INSERT INTO toolgate_migrations VALUES (3); UPDATE toolgate_threads SET version = version + 1");
    const refused = { code: "store_version", data: { version: 3, supported: 2 } };
    await expect(host.ledger.begin(save.id, 1, ACTS)).rejects.toMatchObject(refused);
    await expect(host.ledger.enter("t2", owner("b"), 1_000)).rejects.toMatchObject(refused);
    expect(await ask(url, "SELECT state FROM toolgate_operations")).toEqual([{ state: "claimed" }]);
  });

  it("what a host of version 1 asks, and what it has loaded, is of no more use in version 2 (postgres-schema-3)", async () => {
    const url = await fresh();
    await propose(at.open(url), [operation()]);
    const before = "SELECT name FROM toolgate_threads WHERE thread = $1";
    await expect(ask(url, before.replace("$1", "'t1'"))).rejects.toMatchObject({ code: "42703" });
    const made =
      "INSERT INTO toolgate_threads (thread, name, version, recent, last_at, last_seq) VALUES ('x', 'x', 1, '{}', 1, 1)";
    await expect(ask(url, made)).rejects.toMatchObject({ code: "42703" });
    await ask(url, `${DOWN_TO_1}; UPDATE toolgate_threads SET version = 7`);
    await at.open(url).ledger.threads();
    expect(await ask(url, "SELECT version::int FROM toolgate_threads")).toEqual([{ version: 8 }]);
  });

  it("another host is at it and does not go on: said so after patience, and nobody is left waiting for it (postgres-schema-1)", async () => {
    const url = await at.server().freshDatabase(); // the lock is a database's
    const waiting = `SELECT count(*)::int AS hosts FROM pg_stat_activity WHERE datname = current_database()
      AND application_name = 'toolgate' AND (wait_event_type = 'Lock' OR xact_start IS NOT NULL)`;
    const taken = {
      code: "store_failed",
      message: "the Postgres store failed: another host is setting up or migrating the tables",
      hint: "wait until the other is done, or end it, then try again",
    };
    const host = at.open(url, { clock: "host", patienceMs: 50 });
    const checkpoints = () => host.checkpointer.getTuple({ configurable: { thread_id: "t" } });
    await using(url, async (other) => {
      const turn = async (work: () => Promise<void>) => {
        await other.query("SELECT pg_advisory_lock(hashtextextended('toolgate schema', 0))");
        await work();
        expect((await other.query(waiting)).rows).toEqual([{ hosts: 0 }]);
        await other.query("SELECT pg_advisory_unlock_all()");
      };
      await turn(async () => {
        await expect(host.ledger.threads()).rejects.toMatchObject(taken);
        await expect(host.results.put("t", "body")).rejects.toMatchObject(taken);
      });
      expect(await host.ledger.threads()).toEqual([]);
      await turn(async () => {
        await expect(checkpoints()).rejects.toMatchObject(taken);
        expect(await at.open(url).ledger.threads()).toEqual([]); // tables that are there need no turn
      });
      expect(await checkpoints()).toBeUndefined();
    });
  });

  it("a host that stops in its turn is ended by the database, and another that does goes on (postgres-schema-1)", async () => {
    const url = await at.server().freshDatabase();
    const [first, second] = [open(url), open(url)];
    const turn = (connection: Connection, work: Parameters<typeof alone>[1]) =>
      connection.again(() => connection.session((session) => alone(session, work)));
    const timeouts: unknown[] = [];
    let turns = 0;
    await first.again(() =>
      first.session((session) =>
        alone(session, async () => {
          turns += 1;
          timeouts.push(...(await session.query("SHOW idle_in_transaction_session_timeout")).rows);
          if (turns > 1) return;
          await session.query("SET LOCAL idle_in_transaction_session_timeout = 20"); // sooner, for the test
          await turn(second, async () => undefined);
        }),
      ),
    );
    expect(turns).toBe(2);
    expect(timeouts[0]).toEqual({ idle_in_transaction_session_timeout: "3s" });
  });

  it("opening connects to nothing; a start that failed is made again by the next use (postgres-connection-3)", async () => {
    const url = await fresh();
    await ask(url, "CREATE VIEW toolgate_threads AS SELECT 1 AS one");
    const host = at.open(url, { clock: "host", patienceMs: 50 });
    await expect(host.ledger.threads()).rejects.toMatchObject({ code: "store_failed" });
    expect(await ask(url, "SELECT to_regclass('toolgate_clock') AS made")).toEqual([{ made: null }]); // all or nothing
    await ask(url, "DROP VIEW toolgate_threads");
    expect(await host.ledger.threads()).toEqual([]);
  });
});

// Saving the state dropped the approval's id, and after a restart the answer fitted no question.
describe("Postgres store: load(save(x)) equals x", () => {
  const runs = { numRuns: LONG ? 200 : 15 };
  const questions = rows.chain((row) => questionsAbout(row).map((one) => ({ row, ...one })));
  interface Asked {
    row: OperationRow;
    question: Question;
    verdict: Verdict;
    elapsed: number;
  }

  it("for rows, inserted and written over", async () => {
    const store = await openStore(await fresh());
    const body = async ([first, second]: [OperationRow, OperationRow]) => {
      const { operation: of, threadId, scope, turnId, createdAt } = first;
      const { alias, server, tool, effect, decision } = second.operation;
      const changed = { ...second, operation: { ...of, alias, server, tool, effect, decision } };
      const after = { ...changed, threadId, scope, turnId, createdAt };
      const readSet = { threads: [threadId], operations: [of.id] };
      for (const row of [first, after]) {
        await store.write(
          () => readSet,
          (tables) => tables.putRow(row),
          "power-loss",
        );
        expect(
          await store.read(
            () => ({ operations: [of.id] }),
            (tables) => tables.row(of.id),
          ),
        ).toEqual(row);
      }
      const history = { history: { threadId, turnId } };
      expect(
        await store.read(
          () => history,
          (tables) => tables.rowsOfThread(threadId, turnId),
        ),
      ).toContainEqual(after);
    };
    await fc.assert(fc.asyncProperty(fc.tuple(rows, rows), body), runs);
  });

  it("for questions and verdicts, whatever a verdict says", async () => {
    const store = await openStore(await fresh());
    let asked = 0; // no two questions have one id
    const body = async ({ row, question: { request, ...rest }, verdict, elapsed }: Asked) => {
      const answeredAt = { at: elapsed + 1, elapsed };
      const approvalId = `${request.approvalId}${asked++}`;
      const question = { ...rest, request: { ...request, approvalId } };
      await store.write(
        () => ({ threads: [row.threadId], operations: [row.operation.id] }),
        (tables) => {
          tables.putRow(row);
          tables.addQuestion(question);
        },
        "power-loss",
      );
      const stored = () =>
        store.read(
          () => ({ approvals: [approvalId] }),
          (tables) => tables.question(approvalId),
        );
      expect(await stored()).toEqual(question);
      await store.write(
        () => ({ approvals: [approvalId] }),
        (tables) => tables.setVerdict(approvalId, verdict, answeredAt),
        "power-loss",
      );
      const answered = { ...question, verdict, answered: answeredAt };
      expect(await stored()).toEqual(answered);
      await store.write(
        () => ({ approvals: [approvalId] }),
        (tables) => tables.consume(approvalId),
        "power-loss",
      );
      expect(await stored()).toEqual({ ...answered, consumed: true });
    };
    await fc.assert(fc.asyncProperty(questions, body), runs);
  });

  it("for model requests and proposals", async () => {
    const store = await openStore(await fresh());
    const body = async (record: ModelRequestRecord) => {
      const { threadId, turnId, requestId, proposal } = record;
      const proposals = proposal ? [proposal.proposalId] : [];
      await store.write(
        () => ({ threads: [threadId], request: requestId, proposals }),
        (tables) => tables.addModelRequest(record),
        "power-loss",
      );
      const requests = { requests: { threadId, turnId } };
      const stored = await store.read(
        () => requests,
        (tables) => tables.modelRequests(threadId, turnId),
      );
      expect(stored.find((one) => one.requestId === requestId)).toEqual(record);
      if (!proposal) return;
      expect(
        await store.read(
          () => ({ proposals }),
          (tables) => tables.proposal(proposal.proposalId),
        ),
      ).toEqual(proposal);
    };
    const unique = modelRequests.map((record, n = Math.random()) => ({
      ...record,
      requestId: `${record.requestId}${n}`,
      ...(record.proposal ? { proposal: { ...record.proposal, proposalId: `${record.proposal.proposalId}${n}` } } : {}),
    }));
    await fc.assert(fc.asyncProperty(unique, body), runs);
  });

  it("two texts have two keys, which Postgres can hold and index (postgres-keys-1)", () => {
    const odd = ["\0", "\\u0;", "\\", "\\\\", "\ud800", "\\ud800;", "\udc00\ud800", "a".repeat(5_000), "\\#", ""];
    expect(new Set(odd.map(key)).size).toBe(odd.length);
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (a, b) => {
        expect(key(a) === key(b)).toBe(a === b);
        expect(key(a)).toBe(Buffer.from(key(a), "utf8").toString("utf8"));
        expect(key(a)).not.toContain("\0");
      }),
    );
  });
});

/** A ledger of which something happens between a ruling and its storing. */
async function interrupted(url: string, between: (times: number) => Promise<unknown>): Promise<World> {
  const connection = open(url);
  let times = 0;
  const once: Connection["once"] = async (text, values) => {
    if (text.includes("SELECT stored")) await between(++times);
    return connection.once(text, values);
  };
  return world((deps) => createLedger(postgresStore({ ...connection, once }, { clock: "host", now: deps.now }), deps));
}

/** Looks at one call as the gate does before its claim. */
async function lookAt({ ledger }: World, call: Operation): Promise<void> {
  const { turnId, writes, ...rest } = query([call]);
  await ledger.look(rest, () => ({ turnId, writes, operationIds: [call.id] }));
}

const connections: Connection[] = [];
function open(url: string): Connection {
  const connection = connect(url);
  connections.push(connection);
  return connection;
}
async function openStore(url: string): Promise<Store> {
  return postgresStore(open(url), { clock: "host" });
}

describe("hosts that meet", () => {
  it("what another host stored after the ruling's view: it is ruled on again (postgres-save-1)", async () => {
    const url = await fresh();
    const other = at.open(url);
    await propose(other, [operation()]);
    const host = await interrupted(url, async (times) => {
      if (times === 1) await claimOne(other, operation(), { owner: owner("b") });
    });
    expect(await claimOne(host, operation())).toMatchObject({ kind: "busy", owner: owner("b") });
    expect(await rowOf(host, operation())).toMatchObject({ owner: owner("b"), fence: 1, seq: 1 });
  });

  it.each(["claimed", "settled", "halted by an unknown write"])(
    "what another host %s after the look: the claim sees it (postgres-save-1)",
    async (what) => {
      const url = await fresh();
      const [host, other] = [at.open(url), at.open(url)];
      const call = operation({ proposalId: "p2" });
      await propose(host, [operation(), call]);
      await lookAt(host, call);
      if (what === "halted by an unknown write") {
        const fence = await send(other, operation());
        await other.ledger.settle({ operationId: operation().id, fence, outcome: UNKNOWN, sent: true });
        expect(said(await claimOne(host, call, { ledgerSeq: 1 }))).toBe("rejected (halted) by halt");
        return;
      }
      const fence = what === "settled" ? await send(other, call) : undefined;
      if (fence === undefined) await claimOne(other, call, { owner: owner("b") });
      else await other.ledger.settle({ operationId: call.id, fence, outcome: OK, sent: true });
      const claim = await claimOne(host, call);
      expect(claim).toMatchObject(
        fence === undefined ? { kind: "busy", owner: owner("b") } : { kind: "settled", replayed: true },
      );
    },
  );

  // A proposal that was not there at the look was taken for absent at the claim, and another thread's call was begun.
  it("a proposal that another host made after the look: its thread's call is not claimed in this one", async () => {
    const url = await fresh();
    const [host, other] = [at.open(url), at.open(url)];
    await propose(host, [operation({ proposalId: "p0" })]);
    await lookAt(host, operation());
    await propose(other, [operation()], { threadId: "t2" });
    expect(said(await claimOne(host, operation()))).toBe("rejected (other_thread) by host");
  });

  // The only change was the clock's, which belongs to no thread, and the stale image passed for a fresh one.
  it("what another host settled while the clock was set back: it is told as it stands (postgres-store-1)", async () => {
    const url = await fresh();
    const [host, other] = [at.open(url, { clock: "host" }), at.open(url, { clock: "host" })];
    await propose(host, [operation()]);
    await claimOne(host, operation());
    await other.ledger.settle({ operationId: operation().id, fence: 1, outcome: UNAVAILABLE, sent: false });
    host.clock.now -= 50_000;
    const found = { tool: "look", found: "happened", detail: "said" } as const;
    expect(await host.ledger.readBack(operation().id, found)).toMatchObject({ state: "settled", outcome: UNAVAILABLE });
  });

  it("what another host made after the ruling's view, in a thread that was new to both", async () => {
    const url = await fresh();
    const other = at.open(url);
    const host = await interrupted(url, async (times) => {
      if (times === 1) await claimOne(other, operation(), { threadId: "t2", owner: owner("b") });
    });
    expect(said(await claimOne(host, operation()))).toBe("rejected (other_thread) by host");
    expect(await rowOf(other, operation())).toMatchObject({ threadId: "t2", owner: owner("b"), state: "claimed" });
  });

  it("a write of another thread that became unknown after the ruling's view halts its server (postgres-save-2)", async () => {
    const url = await fresh();
    const other = at.open(url);
    const [first, second] = [operation({ proposalId: "p1" }), operation({ proposalId: "p2" })];
    const fence = await send(other, first, { threadId: "t1" });
    let armed = false;
    const host = await interrupted(url, async () => {
      if (!armed) return;
      armed = false;
      await other.ledger.settle({ operationId: first.id, fence, outcome: UNKNOWN, sent: true });
    });
    const claim = await claimOne(host, second, { threadId: "t2", haltScope: "server", owner: owner("b") });
    expect(claim).toMatchObject({ kind: "claimed", fence: 1 });
    armed = true;
    expect((await host.ledger.begin(second.id, 1, ACTS)).kind).toBe("halted");
    expect(armed).toBe(false);
  });

  it("a host that kept a thread in mind is told of what another did to it since (postgres-store-1)", async () => {
    const url = await fresh();
    const [a, b] = [at.open(url), at.open(url)];
    const save = operation();
    await claimOne(a, save, { owner: owner("a") });
    b.life.set("a", "gone");
    expect(await claimOne(b, save, { owner: owner("b") })).toMatchObject({ kind: "claimed", fence: 2 });
    expect(await a.ledger.begin(save.id, 1, ACTS)).toEqual({ kind: "lost" });
    expect(await a.ledger.settle({ operationId: save.id, fence: 1, outcome: OK, sent: true })).toBe(false);
    expect(await b.ledger.begin(save.id, 2, ACTS)).toMatchObject({ kind: "dispatching" });
    expect(await a.ledger.renew(owner("a"), 15_000)).toBe(false);
    expect(await b.ledger.renew(owner("b"), 15_000)).toBe(true);
  });

  it("a host that would change nothing looks again before it says so (postgres-store-1)", async () => {
    const url = await fresh();
    const [a, b] = [at.open(url), at.open(url)];
    const save = operation();
    const fence = await run(a, save, UNKNOWN);
    await b.ledger.resolve(save.id, "happened", { by: "someone" });
    expect(await a.ledger.settle({ operationId: save.id, fence, outcome: UNKNOWN, sent: true })).toBe(false);
  });

  it("four hosts claim the same calls at once: each is claimed once, and no number is given twice (ledger-3) (ledger-5)", async () => {
    const url = await fresh();
    const many = Array.from({ length: 4 }, () => at.open(url));
    const rounds = LONG ? 50 : 6;
    for (let round = 0; round < rounds; round++) {
      const calls = [0, 1].map((index) => operation({ proposalId: `p${round}`, index, args: { round, index } }));
      const won = await Promise.all(
        many.flatMap((host, n) =>
          calls.map(async (call) => (await claimOne(host, call, { owner: owner(`h${n}`), ledgerSeq: 1_000 })).kind),
        ),
      );
      expect(won.filter((kind) => kind === "claimed")).toHaveLength(2);
      expect(won.filter((kind) => kind === "busy")).toHaveLength(6);
    }
    const numbers = (await (many[0] as World).ledger.operations("t1")).map(({ seq }) => seq);
    expect(numbers.sort((a, b) => Number(a) - Number(b))).toEqual(Array.from({ length: 2 * rounds }, (_, n) => n + 1));
  });

  it.runIf(LONG)("a host that is never first says so in the end", async () => {
    const url = await fresh();
    const other = at.open(url);
    const host = await interrupted(url, (times) => propose(other, [operation({ proposalId: `other-${times}` })]));
    await expect(propose(host, [operation()])).rejects.toMatchObject({
      code: "store_failed",
      message: "the Postgres store failed: it is too busy; other hosts were first each time",
    });
  });

  it("a rule that looks at what its read-set does not name throws, and stores nothing (within-1) (tables-1)", async () => {
    const store = await openStore(await fresh());
    const looks: ((tables: Tables) => unknown)[] = [
      (tables) => tables.row(operation().id),
      (tables) => tables.dispatching("t2"),
      (tables) => tables.unknownWrites(),
      (tables) => tables.holder("t2"),
      (tables) => tables.proposal("p1"),
      (tables) => tables.currentQuestion(operation().id),
      (tables) => tables.writesAfter("t1", 0),
      (tables) => tables.turn("t1", "turn-1"),
      (tables) => tables.threads(),
    ];
    for (const look of looks) {
      const rule = (tables: Tables): unknown => {
        tables.touch("t1", 1);
        return look(tables);
      };
      await expect(store.write(() => ({ threads: ["t1"] }), rule, "power-loss")).rejects.toThrow(TypeError);
    }
    expect(
      await store.read(
        () => ({ list: true }),
        (tables) => tables.threads(),
      ),
    ).toEqual([]);
  });
});

describe("the database's clock", () => {
  /** A schema whose clock a test can turn: `clock_timestamp` of its own is found before the system's. */
  async function turned() {
    const url = new URL(await fresh());
    url.searchParams.set("options", `${url.searchParams.get("options")},pg_catalog`);
    await ask(url.href, "CREATE TABLE turned (ms float8); INSERT INTO turned VALUES (0)");
    await ask(
      url.href,
      `CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
       'SELECT pg_catalog.clock_timestamp() + (SELECT ms FROM turned) * interval ''1 ms'''`,
    );
    return { url: url.href, turn: (ms: number) => ask(url.href, "UPDATE turned SET ms = $1", [ms]) };
  }
  const host = (url: string) => at.open(url, { clock: "database" });
  const HOUR = 3_600_000;

  it("a ruling that is old when it is stored, as after a pause, is made again by then (postgres-save-1)", async () => {
    const { url, turn } = await turned();
    const a = host(url);
    await claimOne(a, operation());
    const { createdAt } = await rowOf(a, operation());
    await turn(HOUR);
    const begun = await a.ledger.begin(operation().id, 1, ACTS); // on an image kept since the claim
    expect(begun.kind === "dispatching" && begun.sentAt - createdAt).toBeGreaterThanOrEqual(HOUR);
  });

  it("a lease is over when the database says so, whatever the hosts' clocks say (postgres-store-3)", async () => {
    const { url, turn } = await turned();
    const [a, b] = [host(url), host(url)];
    for (const one of [a, b]) one.life.set("a", "unknown");
    b.clock.now += 24 * HOUR;
    await claimOne(a, operation(), { owner: owner("a") });
    expect((await claimOne(b, operation(), { owner: owner("b") })).kind).toBe("busy");
    await turn(10_000);
    expect(await a.ledger.renew(owner("a"), 15_000)).toBe(true);
    await turn(20_000);
    expect((await claimOne(b, operation(), { owner: owner("b") })).kind).toBe("busy");
    await turn(30_000);
    expect(await claimOne(b, operation(), { owner: owner("b") })).toMatchObject({ kind: "claimed", fence: 2 });
    expect(await a.ledger.begin(operation().id, 1, ACTS)).toEqual({ kind: "lost" });
  });

  // The wall clock was set back, and what depended on its order or on a lifetime went wrong.
  it("a clock set back does not revive an approval, also for a host that starts afterwards (clock-1)", async () => {
    const { url, turn } = await turned();
    const a = host(url);
    const save = operation({ decision: "ask" });
    const given = await approve(a, save, { ttlMs: 60_000 });
    await turn(70_000);
    await propose(a, [operation({ proposalId: "p2" })], { threadId: "t2" });
    await turn(0);
    const claim = await host(url).ledger.claim(batch([save], { verdicts: [given] }));
    expect(claim).toMatchObject({ claims: [{ kind: "settled", row: { outcome: { reason: "expired" } } }] });
  });
});

describe("cost", () => {
  const isWrite = (text: string) => text.includes("SELECT stored");

  it("what an older version stored has no steady reading: the store's clock decides (transition-3)", async () => {
    const url = await fresh();
    const host = at.open(url);
    const [save, by] = [operation(), { by: "someone" }];
    await host.ledger.enter("t1", owner("a"), LEASE);
    await send(host, save);
    await ask(url, "UPDATE toolgate_threads SET holder_steady = NULL");
    await ask(url, "UPDATE toolgate_operations SET lease_steady = NULL, body = (body::jsonb - 'actsUntil')::text");
    const later = at.open(url); // keeps no image of the thread
    later.life.set("a", "here");
    later.steady.now += 3_600_000;
    later.clock.now += LEASE - 1;
    expect(await later.ledger.enter("t1", owner("b"), LEASE)).toMatchObject({ kind: "busy" });
    expect(await later.ledger.resolve(save.id, "did_not_happen", by)).toMatchObject({ kind: "owner_alive" });
    later.clock.now += 1;
    expect(await later.ledger.enter("t1", owner("b"), LEASE)).toEqual({ kind: "entered" });
    expect(await later.ledger.resolve(save.id, "did_not_happen", by)).toMatchObject({ kind: "resolved" });
  });

  it("a call is four statements that write, each its own transaction, and two that read", async () => {
    const heard: string[] = [];
    const host = at.open(await fresh(), { clock: "host", heard: (text) => heard.push(text) });
    await host.ledger.threads();
    const steps: [string, () => Promise<unknown>][] = [
      ["propose", () => propose(host, [operation()])],
      ["claim", () => claimOne(host, operation())],
      ["begin", () => host.ledger.begin(operation().id, 1, ACTS)],
      ["settle", () => host.ledger.settle({ operationId: operation().id, fence: 1, outcome: OK, sent: true })],
    ];
    const counts: [string, number, number][] = [];
    for (const [name, step] of steps) {
      heard.length = 0;
      await step();
      counts.push([name, heard.filter(isWrite).length, heard.filter((text) => !isWrite(text)).length]);
    }
    expect(counts).toEqual([
      ["propose", 1, 1],
      ["claim", 1, 1],
      ["begin", 1, 0],
      ["settle", 1, 0],
    ]);
    heard.length = 0;
    await host.ledger.settle({ operationId: operation().id, fence: 1, outcome: OK, sent: true }); // told twice
    expect(heard.filter(isWrite)).toEqual([]);
  });

  it("a claim after a look at its calls, and a proposal after what stands in its thread, load nothing", async () => {
    const heard: string[] = [];
    const host = at.open(await fresh(), { clock: "host", heard: (text) => heard.push(text) });
    await propose(host, [operation()]);
    await lookAt(host, operation());
    heard.length = 0;
    expect(await claimOne(host, operation())).toMatchObject({ kind: "claimed", seq: 1 });
    expect(heard.map(isWrite)).toEqual([true]);
    await host.ledger.standing(query([]));
    heard.length = 0;
    await propose(host, [operation({ proposalId: "p2" })]);
    expect(heard.map(isWrite)).toEqual([true]);
    expect(await host.ledger.proposal("p2")).toMatchObject({ threadId: "t1" });
  });

  it("a heartbeat between two steps costs them nothing", async () => {
    const heard: string[] = [];
    const host = at.open(await fresh(), { clock: "host", heard: (text) => heard.push(text) });
    const fence = await send(host, operation());
    await host.ledger.renew(owner("a"), 15_000);
    heard.length = 0;
    await host.ledger.settle({ operationId: operation().id, fence, outcome: OK, sent: true });
    expect(heard.map(isWrite)).toEqual([true]);
    expect(await stands(host, operation())).toBe("ok (success) by server");
  });

  it("a heartbeat beside a step of the run it is for makes neither stale", async () => {
    const heard: string[] = [];
    const host = at.open(await fresh(), { clock: "host", heard: (text) => heard.push(text) });
    await host.ledger.enter("t1", owner("a"), 15_000);
    for (let n = 0; n < 5; n++) {
      heard.length = 0;
      const both = [propose(host, [operation({ proposalId: `p${n}` })]), host.ledger.renew(owner("a"), 15_000)];
      await Promise.all(n % 2 === 0 ? both : both.reverse());
      expect(heard.filter(isWrite)).toHaveLength(1);
    }
  });

  it("no question about a thread, a turn or what is open reads a whole table (tables-2)", async () => {
    const url = await fresh();
    const heard = new Map<string, readonly unknown[]>();
    const host = at.open(url, { clock: "host", heard: (text, values) => heard.set(text, values) });
    await host.ledger.threads();
    await ask(url, FILL);
    await ask(url, "ANALYZE");
    heard.clear();
    await everyMethod(host);
    expect(heard.size).toBeGreaterThan(20);
    const scanned = new Set<string>();
    await using(url, async (client) => {
      for (const [text, values] of heard) {
        if (text.includes("'listed'")) continue; // the one that asks for all threads
        const { rows: plan } = await client.query(`EXPLAIN (FORMAT JSON) ${text}`, [...values]);
        for (const name of scans(plan)) scanned.add(name);
      }
    });
    expect([...scanned].sort()).toEqual(["toolgate_clock", "toolgate_migrations"]); // they have a row or two
  });

  /** 3,000 threads of ten settled writes each, with what belongs to them. */
  const FILL = `
    INSERT INTO toolgate_threads (thread, key, version, recent, last_at, last_seq)
      SELECT 'f' || t, '"f' || t || '"', 1, '{}', 1, 10 FROM generate_series(1, 3000) t;
    INSERT INTO toolgate_turns SELECT 'f' || t, 'turn', 1, 1, 1, 1, false, false FROM generate_series(1, 3000) t;
    INSERT INTO toolgate_operations (id, thread, turn, proposal, arguments, identical, body, state, effect, status,
      reason, seq, halt_scope, owner)
      SELECT md5(t || ' ' || n), 'f' || t, 'turn', md5('p' || t || ' ' || n), '{}', md5('i' || t || ' ' || n), repeat('x', 300),
        'settled', 'write', 'ok', 'success', n, 'thread', 'o' || t
      FROM generate_series(1, 3000) t, generate_series(1, 10) n;
    INSERT INTO toolgate_questions (approval, operation, body) SELECT 'a' || id, id, repeat('x', 300) FROM toolgate_operations;
    INSERT INTO toolgate_requests (request, thread, turn, tools, body, proposal)
      SELECT 'r' || id, thread, turn, 'l', repeat('x', 300), proposal FROM toolgate_operations;
    INSERT INTO toolgate_tool_lists SELECT 'l' || n, '[]' FROM generate_series(1, 3000) n;
    INSERT INTO toolgate_snapshots SELECT 's' || n, '' FROM generate_series(1, 3000) n;
    INSERT INTO toolgate_bodies SELECT decode(md5('b' || n), 'hex'), 'utf8', '' FROM generate_series(1, 3000) n;
    INSERT INTO toolgate_results SELECT decode(md5('r' || n), 'hex'), 't', decode(md5('b' || n), 'hex')
      FROM generate_series(1, 3000) n`;

  async function everyMethod(host: PostgresHost): Promise<void> {
    const { ledger } = host;
    await ledger.putSnapshot({ id: SNAPSHOT, servers: [], tools: [], withheld: [] });
    await ledger.snapshot(SNAPSHOT);
    await ledger.enter("t1", owner("a"), 15_000);
    await run(host, operation({ proposalId: "p0" }), UNKNOWN, { threadId: "t0", haltScope: "server" });
    const [save, load] = [operation({ decision: "ask" }), read({ index: 1 })];
    await propose(host, [save, load]);
    await ledger.modelRequests("t1", "turn-1");
    await askOne(host, save);
    const given = await approve(host, save);
    await ledger.request(given.approvalId);
    await ledger.openRequests();
    await ledger.openRequests("t1");
    await ledger.standing(query([save]));
    await ledger.standing(query([save], { haltScope: "server" }));
    await ledger.claim(batch([save, load], { verdicts: [given] }));
    await ledger.claim(batch([operation({ proposalId: "p3" })], { threadId: "t3", haltScope: "server", scope: "s" }));
    await ledger.begin(operation({ proposalId: "p3" }).id, 1, ACTS);
    await ledger.begin(save.id, 1, ACTS);
    await ledger.renew(owner("a"), 15_000);
    await ledger.settle({ operationId: save.id, fence: 1, outcome: UNKNOWN, sent: true });
    await ledger.settleLate({ operationId: save.id, fence: 1, outcome: UNKNOWN, sent: true });
    await ledger.readBack(save.id, { tool: "t", found: "nothing", detail: "" });
    await ledger.resolve(save.id, "leave", { by: "someone" });
    await ledger.sweep({ reads: true });
    await ledger.sweep({ threadId: "t1", reads: true });
    await ledger.unknowns();
    await ledger.unknowns("t1");
    await ledger.rows("p1");
    await ledger.operations("t1");
    await ledger.operations("t1", "turn-1");
    await ledger.row(save.id);
    await ledger.threads();
    await ledger.leave("t1", owner("a"));
    const { ref } = await host.results.put("t1", "body");
    await host.results.read("t1", ref);
  }
});

interface Plan {
  readonly [name: string]: unknown;
}

/** The tables that a plan reads from end to end. */
function scans(plan: unknown): string[] {
  if (Array.isArray(plan)) return plan.flatMap(scans);
  if (typeof plan !== "object" || plan === null) return [];
  const node = plan as Plan;
  const own = node["Node Type"] === "Seq Scan" ? [String(node["Relation Name"])] : [];
  return [...own, ...Object.values(node).flatMap(scans)];
}
