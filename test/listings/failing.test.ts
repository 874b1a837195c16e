import { describe, expect, it } from "vitest";
import type { Config } from "../../src/contracts/index.js";
import type { ConnectResult, ListPage, ServerConnection, Servers } from "../../src/contracts/mcp-port.js";
import type { Ledger } from "../../src/ledger/port.js";
import { createCatalog } from "../../src/listings/catalog.js";
import { LIMITS, tool } from "../catalog/helpers.js";

const page = (...names: string[]): ListPage => ({ ok: true, tools: names.map((name) => tool(name)), bytes: 1 });

/** One server, `s`, that does what the test says, and a clock that the test sets. */
function world({ required = false } = {}) {
  const clock = { now: 1_000 };
  const server = {
    starts: 0,
    lists: 0,
    connection: undefined as ServerConnection | undefined,
    /** How a start ends; undefined: never by itself. */
    onStart: (() => undefined) as () => string | undefined,
    onList: async (_cursor: string | undefined, _deadlineMs: number): Promise<ListPage> => page("one"),
    generation: 0,
    hangs: false,
  };
  const waiting: ((result: ConnectResult) => void)[] = [];
  const connected = (): ConnectResult => {
    const problem = server.onStart();
    if (problem !== undefined) return { ok: false, problem };
    const listPage = (cursor: string | undefined, deadlineMs: number) => {
      server.lists += 1;
      return server.onList(cursor, deadlineMs);
    };
    const connection = { name: "s", protocol: "2025-11-25", listPage } as unknown as ServerConnection;
    Object.defineProperty(connection, "closed", { get: () => server.connection !== connection });
    server.connection = connection;
    server.generation += 1;
    return { ok: true, connection };
  };
  const servers = {
    names: ["s"],
    connectTimeoutMs: 30_000,
    connect: async (): Promise<ConnectResult> => {
      if (server.connection !== undefined) return { ok: true, connection: server.connection };
      server.starts += 1;
      return server.hangs ? new Promise((resolve) => waiting.push(resolve)) : connected();
    },
    connection: () => server.connection,
    generation: () => server.generation,
    onEvent: () => () => undefined,
    close: async () => undefined,
  } as unknown as Servers;
  const catalog = createCatalog({
    config: {
      mcpServers: { s: { required } },
      limits: { hardResultBytes: 1, resultBytes: 1 },
      catalog: { limits: LIMITS, onInvalid: "withhold" },
    } as unknown as Config,
    servers,
    ledger: { putSnapshot: async () => undefined } as unknown as Ledger,
    locals: [],
    injected: () => [],
    hidden: () => undefined,
    redact: (text) => text,
    pause: () => new Promise((resolve) => setImmediate(resolve)),
    steady: () => clock.now,
  });
  return {
    catalog,
    clock,
    server,
    /** The hanging start is over. */
    release: (problem?: string) => {
      server.hangs = false;
      for (const resolve of waiting.splice(0)) resolve(problem === undefined ? connected() : { ok: false, problem });
    },
    die: () => {
      server.connection = undefined;
      server.generation += 1;
    },
  };
}
type World = ReturnType<typeof world>;

async function snapshotOf({ catalog }: World) {
  const assembled = await catalog.assemble(["s"], undefined);
  if (!assembled.ok) throw new Error(assembled.problem);
  return assembled.snapshot;
}
const told = async (at: World) => {
  const { servers, tools } = await snapshotOf(at);
  return [servers[0]?.status, ...tools.map((entry) => entry.tool)];
};
/** What goes on beside the turns has gone as far as it can. */
const settled = async () => {
  for (let turns = 0; turns < 4; turns++) await new Promise((resolve) => setImmediate(resolve));
};
const HUNG = "it was not ready within 30000 ms";

describe("a server that failed", () => {
  // Three batches of one turn waited 121 s for an optional server that hangs.
  it("is waited for once; from then on it is tried beside the turns, and its tools come when it lists (listing-7)", async () => {
    const at = world();
    at.server.hangs = true;
    const first = told(at);
    await settled();
    at.clock.now += 30_000;
    at.release(HUNG);
    expect(await first).toEqual(["failed"]);
    expect(at.server.starts).toBe(1);

    at.server.hangs = true;
    expect(await told(at)).toEqual(["failed"]); // its pause is not over: nothing is started
    expect(at.server.starts).toBe(1);
    at.clock.now += 1_000;
    expect(await told(at)).toEqual(["failed"]); // a start that hangs, and nobody waits for it
    expect(await told(at)).toEqual(["failed"]);
    expect(at.server.starts).toBe(2);
    at.release();
    await settled();
    expect(await told(at)).toEqual(["connected", "one"]);
    expect(at.server.starts).toBe(2);
  });

  it("is started after 1, 2, 4 … 60 seconds, however many turns ask (listing-7)", async () => {
    const at = world();
    at.server.onStart = () => "it ended with code 1";
    const startedAt: number[] = [];
    for (let seconds = 0; seconds <= 250; seconds += 1) {
      const before = at.server.starts;
      await told(at);
      await settled();
      if (at.server.starts > before) startedAt.push(seconds);
      at.clock.now += 1_000;
    }
    expect(startedAt).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183, 243]);
  });

  // A list that is not known now was taken for a changed one: each batch went through a discovery that started the server.
  it("has not changed: nothing is discovered anew until its pause is over, or its list has come", async () => {
    const at = world();
    const { id } = await snapshotOf(at);
    expect(at.catalog.moved(id, ["s"])).toBe(false);
    at.die();
    at.server.onStart = () => "gone";
    expect(at.catalog.moved(id, ["s"])).toBe(true); // it is tried once
    expect(await told(at)).toEqual(["stale", "one"]);
    expect(at.catalog.moved(id, ["s"])).toBe(false);
    at.clock.now += 1_000;
    expect(at.catalog.moved(id, ["s"])).toBe(true);
    at.server.hangs = true;
    expect((await snapshotOf(at)).id).toBe(id); // the same tools, the same snapshot
    expect(at.catalog.moved(id, ["s"])).toBe(false); // it is being tried
    at.server.onStart = () => undefined;
    at.server.onList = async () => page("one", "two");
    at.release();
    await settled();
    expect(at.catalog.moved(id, ["s"])).toBe(true);
    expect(await told(at)).toEqual(["connected", "one", "two"]);
  });

  it("is not assembled anew by each batch while nothing is new", async () => {
    const at = world();
    await told(at);
    at.die();
    at.server.onStart = () => "gone";
    const one = await snapshotOf(at);
    expect(one.servers[0]?.status).toBe("stale");
    expect(await snapshotOf(at)).toBe(one);
  });

  // A host that was mended should not need a turn that fails first.
  it("is waited for where it is required and never listed, but not during its pause (listing-7)", async () => {
    const at = world({ required: true });
    at.server.onStart = () => "gone";
    expect(await told(at)).toEqual(["failed"]);
    at.server.onStart = () => undefined;
    expect(await told(at)).toEqual(["failed"]);
    at.clock.now += 1_000;
    expect(await told(at)).toEqual(["connected", "one"]);
    at.die();
    at.server.onStart = () => "gone again";
    await told(at);
    at.clock.now += 1_000;
    at.server.hangs = true;
    expect(await told(at)).toEqual(["stale", "one"]); // what it listed before stands meanwhile
  });
});

describe("a call to a server that failed", () => {
  it("starts nothing during the pause and says when it is tried again; afterwards it connects and verifies", async () => {
    const at = world();
    await told(at);
    at.die();
    at.server.onStart = () => "gone";
    await told(at);
    expect(at.server.starts).toBe(2);
    const refused = "gone; it is tried again in 1 s";
    expect(await at.catalog.verify("s")).toEqual({ ok: false, problem: refused, connected: false });
    expect(await at.catalog.connect("s")).toEqual({ ok: false, problem: refused });
    expect(at.server.starts).toBe(2);
    at.clock.now += 1_000;
    at.server.onStart = () => undefined;
    expect(await at.catalog.verify("s")).toMatchObject({ ok: true });
    expect(at.server.starts).toBe(3);
  });

  it("connects although only its list failed, because that starts nothing", async () => {
    const at = world();
    at.server.onList = async () => ({ ok: false, problem: "no" });
    await told(at);
    expect(await at.catalog.verify("s")).toEqual({ ok: false, problem: "page 1 failed: no", connected: true });
    expect((await at.catalog.connect("s")).ok).toBe(true);
    expect(at.server).toMatchObject({ starts: 1, lists: 2 });
  });

  // An HTTP server that forgot its sessions was refused to the next call, although it answers.
  it("connects anew without a pause where the connection was lost in a listing (listing-8)", async () => {
    const at = world();
    await told(at);
    at.server.onList = async () => {
      at.die();
      return { ok: false, problem: "the session is gone" };
    };
    expect(await at.catalog.verify("s")).toMatchObject({ ok: false, connected: false });
    at.server.onList = async () => page("one");
    expect(await at.catalog.verify("s")).toMatchObject({ ok: true });
    expect(await told(at)).toEqual(["connected", "one"]);
    expect(at.server.starts).toBe(2);
  });

  it("waits for the pause where it dies in its first list after each start", async () => {
    const at = world();
    at.server.onList = async () => {
      at.die();
      return { ok: false, problem: "it ended" };
    };
    await told(at);
    for (let calls = 0; calls < 5; calls++) expect((await at.catalog.verify("s")).ok).toBe(false);
    expect(at.server.starts).toBe(1);
  });

  // The person who mended the server and asks for it would be told to wait a minute.
  it("that a person or a model asks to connect is tried at once", async () => {
    const at = world();
    at.server.onStart = () => "gone";
    for (let tries = 0; tries < 5; tries++) expect((await at.catalog.list("s")).status).toBe("failed");
    at.server.onStart = () => undefined;
    expect((await at.catalog.list("s")).status).toBe("connected");
    expect(at.server.starts).toBe(6);
  });
});

describe("the deadline of a listing", () => {
  // Each page had 30 s of its own: a server that sends 64 pages slowly held a turn for 32 minutes.
  it("is one for all pages (listing-6)", async () => {
    const at = world();
    const deadlines: number[] = [];
    let pages = 0;
    at.server.onList = async (_cursor, deadlineMs) => {
      deadlines.push(deadlineMs);
      at.clock.now += 9_000;
      pages += 1;
      return { ...page(`t${pages}`), nextCursor: `c${pages}` } as ListPage;
    };
    const listing = await at.catalog.list("s");
    expect(listing).toMatchObject({
      status: "failed",
      problem: "page 5 failed: its list was not complete within 30000 ms",
    });
    expect(deadlines).toEqual([30_000, 21_000, 12_000, 3_000]);
  });

  it("counts from before the connection, and is said as a whole where a page is cut off by it (listing-6)", async () => {
    const at = world();
    at.server.onStart = () => {
      at.clock.now += 25_000;
      return undefined;
    };
    const deadlines: number[] = [];
    at.server.onList = async (_cursor, deadlineMs) => {
      deadlines.push(deadlineMs);
      at.clock.now += deadlineMs;
      return { ok: false, problem: `its tools were not listed within ${deadlineMs} ms` };
    };
    expect((await at.catalog.list("s")).problem).toBe("page 1 failed: its list was not complete within 30000 ms");
    expect(deadlines).toEqual([5_000]);
  });

  it("is one for pages that are walked again, and for all walks of a verification (listing-6)", async () => {
    const at = world();
    await told(at);
    const began = at.clock.now;
    at.server.onList = async (_cursor, deadlineMs) => {
      at.clock.now += Math.min(13_000, deadlineMs);
      at.server.generation += 1; // it says so whenever it lists
      return deadlineMs < 13_000 ? { ok: false, problem: "too slow" } : page(`at-${at.clock.now}`);
    };
    const verified = await at.catalog.verify("s");
    expect(verified).toMatchObject({ ok: false, problem: "page 1 failed: its list was not complete within 30000 ms" });
    expect(at.clock.now - began).toBe(30_000);
  });
});
