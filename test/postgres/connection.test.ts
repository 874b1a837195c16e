// Connections that are lost, ended or shared: each write is stored once, and its host goes on.

import { inspect } from "node:util";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { kindOf, storeFailed } from "../../src/adapters/postgres/failure.js";
import type { SettledRow } from "../../src/contracts/index.js";
import { outcomeOf } from "../../src/contracts/index.js";
import { createToolgate } from "../../src/index.js";
import {
  ACTS,
  approve,
  askOne,
  batch,
  claimOne,
  OK,
  operation,
  owner,
  propose,
  query,
  rowOf,
  run,
  stands,
  verdict,
} from "../conformance/ledger-world.js";
import { hosts, type PostgresHost } from "./hosts.js";
import { type PostgresProxy, startProxy } from "./proxy.js";

const at = hosts();
let url: string;
let proxy: PostgresProxy;
beforeEach(async () => {
  url = await at.server().freshSchema();
  proxy = await startProxy(url);
});
afterEach(async () => {
  await proxy.close();
});

/** Asks the database by a connection of its own. */
async function ask(text: string, database = url): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

const terminate = () =>
  ask(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'toolgate' AND datname = current_database()",
  );

/** One operation's whole life, the run it is in included, each step once. Returns what each step was told. */
async function life(host: PostgresHost, before: (step: string) => void): Promise<unknown[]> {
  const { ledger } = host;
  const save = operation({ decision: "ask" });
  const told: unknown[] = [];
  const step = async (name: string, call: () => Promise<unknown>) => {
    before(name);
    told.push(await call());
  };
  await step("enter", () => ledger.enter("t1", owner("a"), 15_000));
  await step("propose", () => propose(host, [save]));
  await step("ask", () => askOne(host, save));
  const [asked] = await ledger.asked([save.id]);
  const given = verdict(asked as NonNullable<typeof asked>, { at: host.clock.now });
  await step("answer", () => ledger.answer([{ verdict: given }]));
  await step("claim", () => ledger.claim(batch([save], { verdicts: [given] })));
  await step("begin", () => ledger.begin(save.id, 1, ACTS));
  await step("settle", () => ledger.settle({ operationId: save.id, fence: 1, outcome: OK, sent: true }));
  await step("leave", () => ledger.leave("t1", owner("a")));
  told.push(await ledger.row(save.id), await ledger.standing(query([])), await ledger.modelRequests("t1", "turn-1"));
  return told;
}

describe("a connection that is lost", () => {
  it.each(["answer", "request"] as const)(
    "with the %s of a write: it is stored once, and told as if nothing had been (postgres-save-3) (F23)",
    async (what) => {
      const expected = await life(at.open(await at.server().freshSchema()), () => undefined);
      const told = await life(at.open(proxy.url(url)), () => proxy.lose(what, "SELECT stored"));
      expect(proxy.lost).toBe(8);
      expect(told).toEqual(expected);
      const versions = await ask("SELECT version::int, cardinality(recent) AS recent FROM toolgate_threads");
      expect(versions).toEqual([{ version: 8, recent: 8 }]);
    },
  );

  it("at the claim's COMMIT: the row is read back, and the write is claimed once (F23)", async () => {
    const host = at.open(proxy.url(url));
    await propose(host, [operation()]);
    proxy.lose("answer", "SELECT stored");
    expect(await claimOne(host, operation())).toMatchObject({ kind: "claimed", fence: 1, attempt: 1, seq: 1 });
    expect(proxy.lost).toBe(1);
    expect(await rowOf(host, operation())).toMatchObject({ state: "claimed", fence: 1, attempt: 1, seq: 1 });
  });

  it("with the answer to a read, or while migrating: it is asked again", async () => {
    const host = at.open(proxy.url(url));
    proxy.lose("answer", "CREATE TABLE toolgate_clock");
    await propose(host, [operation()]);
    proxy.lose("answer", "UNION ALL");
    expect((await host.ledger.proposal("p1"))?.calls).toHaveLength(1);
    expect(proxy.lost).toBe(2);
  });

  it("with a heartbeat or a result: the lease is extended, the body is there", async () => {
    const host = at.open(proxy.url(url));
    await claimOne(host, operation());
    host.clock.now += 5_000;
    proxy.lose("answer", "holder_until = CASE");
    expect(await host.ledger.renew(owner("a"), 15_000)).toBe(true);
    expect(((await rowOf(host, operation())) as SettledRow).leaseUntil).toBe(host.clock.now + 15_000);
    proxy.lose("answer", "INSERT INTO toolgate_results");
    const { ref } = await host.results.put("t1", "body");
    expect(await host.results.read("t1", ref)).toBe("body");
    expect(proxy.lost).toBe(2);
  });
});

describe("a connection that goes silent", () => {
  // As by default, an answer is waited for as long as patience lasts. The pool has one connection, so that the next
  // question can be answered only after the silent connection was given up.
  const silent = { clock: "host", max: 1, answerMs: 400, patienceMs: 400 } as const;

  it("after a claim or a begin was stored: told as if nothing had been, and stored once (postgres-connection-2) (postgres-connection-4) (postgres-store-2)", async () => {
    const host = at.open(proxy.url(url), silent);
    await propose(host, [operation()]);
    proxy.lose("silence", "SELECT stored");
    expect(await claimOne(host, operation())).toMatchObject({ kind: "claimed", fence: 1, attempt: 1, seq: 1 });
    proxy.lose("silence", "SELECT stored");
    expect(await host.ledger.begin(operation().id, 1, ACTS)).toMatchObject({ kind: "dispatching" });
    expect(proxy.lost).toBe(2);
    expect(await ask("SELECT state, seq::int FROM toolgate_operations")).toEqual([{ state: "dispatching", seq: 1 }]);
    expect(await ask("SELECT version::int FROM toolgate_threads")).toEqual([{ version: 3 }]);
  });

  it("once more, when asked whether the write is in: it is asked again on another (postgres-connection-2) (postgres-connection-4) (postgres-store-2)", async () => {
    const heard = (text: string) => {
      if (text.includes("ANY(recent)") && proxy.lost === 1) proxy.lose("silence", "ANY(recent)");
    };
    const host = at.open(proxy.url(url), { ...silent, heard });
    await propose(host, [operation()]);
    proxy.lose("silence", "SELECT stored");
    expect(await claimOne(host, operation())).toMatchObject({ kind: "claimed", fence: 1, attempt: 1, seq: 1 });
    expect(proxy.lost).toBe(2);
  });

  it("while migrating, at a read, a heartbeat or a result: it is asked again on another", async () => {
    const host = at.open(proxy.url(url), { clock: "host", max: 1, answerMs: 200 });
    proxy.lose("silence", "CREATE TABLE toolgate_clock");
    await propose(host, [operation()]);
    await claimOne(host, operation());
    proxy.lose("silence", "UNION ALL");
    expect((await host.ledger.proposal("p1"))?.calls).toHaveLength(1);
    proxy.lose("silence", "holder_until = CASE");
    expect(await host.ledger.renew(owner("a"), 15_000)).toBe(true);
    proxy.lose("silence", "INSERT INTO toolgate_results");
    const { ref } = await host.results.put("t1", "body");
    expect(await host.results.read("t1", ref)).toBe("body");
    expect(proxy.lost).toBe(4);
  });
});

describe("a checkpoint's connection that is lost", () => {
  const config = { configurable: { thread_id: "t1", checkpoint_ns: "" } };
  it.each(["answer", "request"] as const)("with the %s to a write: it is stored, once", async (what) => {
    const { checkpointer } = at.open(proxy.url(url));
    expect(await checkpointer.getTuple(config)).toBeUndefined();
    const checkpoint = { ...emptyCheckpoint(), channel_values: { said: "yes" }, channel_versions: { said: 1 } };
    proxy.lose(what, "parent_checkpoint_id, checkpoint, metadata");
    const put = await checkpointer.put(config, checkpoint, { source: "input", step: -1, parents: {} }, { said: 1 });
    proxy.lose(what, "task_id, idx, channel");
    await checkpointer.putWrites(put, [["said", "no"]], "task");
    expect(proxy.lost).toBe(2);
    const stored = await checkpointer.getTuple(config);
    expect(stored?.checkpoint.channel_values).toEqual({ said: "yes" });
    expect(stored?.pendingWrites).toEqual([["task", "said", "no"]]);
  });

  it("while it sets up its tables: they are there", async () => {
    const { checkpointer } = at.open(proxy.url(url));
    proxy.lose("request", "checkpoint_blobs");
    expect(await checkpointer.getTuple(config)).toBeUndefined();
    expect(proxy.lost).toBe(1);
  });
});

describe("connections that the database ends", () => {
  // A pool kept connections that had died, and the next checkpoint could not be written.
  it("between any two steps: nothing is lost, doubled or thrown (postgres-connection-2)", async () => {
    const expected = await life(at.open(await at.server().freshSchema()), () => undefined);
    const host = at.open(url);
    await host.ledger.threads();
    const { ledger } = host;
    const ended = { ...host, ledger: { ...ledger } };
    for (const name of ["enter", "propose", "ask", "answer", "claim", "begin", "settle", "leave"] as const) {
      const call = ledger[name] as (...args: unknown[]) => Promise<unknown>;
      Object.assign(ended.ledger, {
        [name]: async (...args: unknown[]) => {
          expect(await terminate()).not.toEqual([]);
          return call(...args);
        },
      });
    }
    expect(await life(ended, () => undefined)).toEqual(expected);
  });

  it("under load: every write is begun and settled once", async () => {
    const host = at.open(url);
    await host.ledger.threads();
    let done = 0;
    const worker = async (n: number) => {
      for (let call = 0; call < 6; call++) {
        const save = operation({ proposalId: `p-${n}-${call}`, args: { n, call } });
        const where = { threadId: `t${n}`, ledgerSeq: call };
        await propose(host, [save], where);
        expect(await claimOne(host, save, where)).toMatchObject({ kind: "claimed", fence: 1, attempt: 1 });
        expect(await host.ledger.begin(save.id, 1, ACTS)).toMatchObject({ kind: "dispatching" });
        expect(await host.ledger.settle({ operationId: save.id, fence: 1, outcome: OK, sent: true })).toBe(true);
        done += 1;
        if (done % 8 === 0) await terminate();
      }
    };
    await Promise.all(Array.from({ length: 8 }, (_, n) => worker(n)));
    for (let n = 0; n < 8; n++) {
      const rows = await host.ledger.operations(`t${n}`);
      expect(rows.map((row) => [row.seq, row.fence, row.attempt, outcomeOf(row)?.status])).toEqual(
        [1, 2, 3, 4, 5, 6].map((seq) => [seq, 1, 1, "ok"]),
      );
      expect(await host.ledger.standing(query([], { threadId: `t${n}` }))).toMatchObject({ calls: 6, writes: 6 });
    }
  });

  it("while nothing is under way: the next call connects again (postgres-connection-2)", async () => {
    const host = at.open(url);
    await run(host, operation(), OK);
    await terminate();
    expect(await stands(host, operation())).toBe("ok (success) by server");
  });
});

describe("connections that are shared", () => {
  // Behind a pooler in transaction mode prepared statements vanished and session locks did not hold.
  it("each transaction on a connection of its own, as a pooler in transaction mode may give it (postgres-connection-1)", async () => {
    const expected = await life(at.open(await at.server().freshSchema()), () => undefined);
    const texts: string[] = [];
    const pooled = { clock: "host", max: 1, maxUses: 1, heard: (text: string) => texts.push(text) } as const;
    const host = at.open(url, pooled);
    expect(await life(host, () => undefined)).toEqual(expected);
    const config = { configurable: { thread_id: "t1", checkpoint_ns: "" } };
    expect(await host.checkpointer.getTuple(config)).toBeUndefined();
    await approve(host, operation({ proposalId: "p2", decision: "ask" }));
    expect(
      texts.filter((text) =>
        /\b(PREPARE|LISTEN|SET (?!version|body|model|at|lease)|TEMP|pg_advisory_lock)\b/.test(text),
      ),
    ).toEqual([]);
    expect(texts.length).toBeGreaterThan(20);
  });
});

describe("a database that is not there", () => {
  const secret = "hunter2-%40-secret";
  const withPassword = (change: (url: URL) => void) => {
    const there = new URL(url);
    there.password = secret;
    change(there);
    return there.href;
  };
  const cases = [
    ["refuses the password", () => withPassword(() => undefined), "check the user and the password in `store.url`"],
    [
      "has no such database",
      () => Object.assign(new URL(url), { pathname: "/nowhere" }).href,
      "make the database that `store.url` names, or name another",
    ],
    [
      "does not listen",
      () => withPassword((there) => Object.assign(there, { port: "1" })),
      "check that the database runs and can be reached, then try again; what was stored stays",
      "tried again",
    ],
    [
      "has no socket",
      () => withPassword((there) => there.searchParams.set("host", "/nowhere")),
      "check that the database runs and can be reached, then try again; what was stored stays",
      "tried again",
    ],
    [
      "has a name that is none",
      () => `postgresql://someone:${secret}@[half/base`,
      "write `store.url` as postgresql://user:password@host:port/database",
    ],
    [
      "has a name that cannot be read",
      () => `postgresql://someone%ff:${secret}@127.0.0.1/base`,
      "write `store.url` as postgresql://user:password@host:port/database",
    ],
    [
      "is given no password",
      () => Object.assign(new URL(url), { password: "" }).href,
      "check the user and the password in `store.url`",
    ],
    [
      "is checked by a certificate that is not there",
      () => withPassword((there) => there.searchParams.set("sslrootcert", "/nowhere/root.crt")),
      "check the files that `store.url` names (sslrootcert, sslcert, sslkey)",
    ],
    [
      "has a key that is a folder",
      () => withPassword((there) => there.searchParams.set("sslkey", "/")),
      "check the files that `store.url` names (sslrootcert, sslcert, sslkey)",
    ],
    [
      "does not do SSL",
      () => withPassword((there) => there.searchParams.set("sslmode", "verify-full")),
      "leave `sslmode` out of `store.url`, or switch SSL on in the database",
    ],
    [
      "is to be verified by nothing",
      () => withPassword((there) => (there.search += "&uselibpqcompat=true&sslmode=verify-ca")),
      "change `sslmode` in `store.url` as the message says, or leave it out",
    ],
  ] as const;
  it.each(cases)("%s: store_failed, with what to do and without the password", async (...[, broken, hint, again]) => {
    const there = broken();
    const host = at.open(there, { clock: "host", patienceMs: 100 });
    const connects = vi.spyOn(pg.Pool.prototype, "connect");
    const password = new URL(url).password;
    const everything = [
      () => host.ledger.threads(),
      () => propose(host, [operation()]),
      () => host.results.put("t1", "body"),
      () => host.checkpointer.getTuple({ configurable: { thread_id: "t1" } }),
    ];
    for (const call of everything) {
      connects.mockClear();
      const error = await call().then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(error).toMatchObject({ code: "store_failed", hint });
      if (again) expect(connects.mock.calls.length).toBeGreaterThan(1);
      else expect(connects).toHaveBeenCalledTimes(1); // postgres-failure-3
      const said = inspect(error, { depth: 10, showHidden: true });
      expect(said).not.toContain(there);
      for (const word of [secret, decodeURIComponent(secret), password]) expect(said).not.toContain(word);
    }
    connects.mockRestore();
  });

  it.each([
    ["a certificate nobody vouches for", "SELF_SIGNED_CERT_IN_CHAIN", /certificate/],
    ["a certificate that is over", "CERT_HAS_EXPIRED", /certificate/],
    ["a certificate that cannot be traced", "UNABLE_TO_VERIFY_LEAF_SIGNATURE", /certificate/],
    ["another's certificate", "ERR_TLS_CERT_ALTNAME_INVALID", /certificate/],
    ["no certificate in the file of one", "ERR_OSSL_PEM_NO_START_LINE", /sslrootcert, sslcert, sslkey/],
    ["SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string", undefined, /the user and the password/],
  ])("has %s: a fault, with what to do (postgres-failure-3)", (message, code, hint) => {
    const error = Object.assign(new Error(message), { code });
    expect(kindOf(error, false)).toBe("fault");
    expect(storeFailed(error, [])).toMatchObject({ code: "store_failed", hint: expect.stringMatching(hint) });
  });

  it.each(["Connection terminated due to connection timeout", "timeout exceeded when trying to connect"])(
    "may be there in a moment: %s (postgres-failure-3)",
    (message) => {
      expect(kindOf(new Error(message), false)).toBe("busy");
      expect(kindOf(Object.assign(new Error("getaddrinfo"), { code: "EAI_AGAIN" }), false)).toBe("busy");
    },
  );

  it("an error after a statement was sent is no fault of the connection string, whatever it says (postgres-failure-1)", () => {
    for (const code of ["ENOENT", "ERR_OSSL_EVP_BAD_DECRYPT", "CERT_HAS_EXPIRED"]) {
      expect(kindOf(Object.assign(new Error("SASL"), { code }), true)).toBe("lost");
    }
  });

  it("is named by no connection string: config_invalid before anything starts, without showing it", async () => {
    for (const none of [`not a url ${secret}`, `localhost:5432/${secret}`, `http://${secret}@localhost/x`]) {
      const error = await createToolgate({ config: { mcpServers: {}, store: { kind: "postgres", url: none } } }).then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(error).toMatchObject({
        code: "config_invalid",
        message: "`store.url` is no connection string; write `postgres://user@host/database`",
      });
      expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(secret);
    }
  });

  it("what the driver says is told without the connection string and its password (postgres-failure-2)", () => {
    const error = Object.assign(new Error(`no route to ${url} for hunter2`), { code: "ECONNREFUSED", input: url });
    const told = inspect(storeFailed(error, [url, "hunter2"]), { depth: 10, showHidden: true });
    expect(told).toContain("no route to [removed] for [removed]");
    expect(told).not.toContain(url);
  });

  it("was closed: store_failed, at once", async () => {
    const host = at.open(url);
    await propose(host, [operation()]);
    await host.close();
    await host.close();
    await expect(host.ledger.threads()).rejects.toMatchObject({ code: "store_failed", hint: "open the store again" });
  });
});
