import { describe, expect, it } from "vitest";
import type { Config } from "../../src/contracts/index.js";
import type { ListPage, ServerConnection, Servers } from "../../src/contracts/mcp-port.js";
import type { Ledger } from "../../src/ledger/port.js";
import { type Catalog, createCatalog } from "../../src/listings/catalog.js";
import { CHARS_A_SLICE, TOOLS_A_SLICE } from "../../src/listings/slices.js";
import { createRedactor } from "../../src/observation/index.js";
import { LIMITS, listing, snapshotOf, tool } from "../catalog/helpers.js";

const many = (count: number, more: Record<string, unknown> = {}) =>
  Array.from({ length: count }, (_, index) => tool(`tool_${index}`, more));
const page = (tools: readonly unknown[]): ListPage => ({ ok: true, tools, bytes: 1 });

interface World {
  readonly catalog: Catalog;
  /** The names of the tools that were assessed between one pause and the next. */
  readonly slices: string[][];
  readonly stored: string[];
  /** What a server lists from now on. */
  readonly lists: Map<string, (cursor?: string) => Promise<ListPage>>;
  /** Says that each server may list something else from now on. */
  readonly changed: () => void;
  /** The servers that were listed, in order. */
  readonly asked: string[];
  readonly clock: { now: number };
}

/** A catalog over servers that list what the test says. */
function world(listed: Record<string, readonly unknown[]>, secrets: readonly string[] = []): World {
  const slices: string[][] = [[]];
  const stored: string[] = [];
  const asked: string[] = [];
  const clock = { now: 1_000 };
  let generation = 1;
  const lists: World["lists"] = new Map(Object.entries(listed).map(([name, tools]) => [name, async () => page(tools)]));
  const connections = new Map<string, ServerConnection>();
  for (const name of lists.keys()) {
    const listPage = (cursor?: string) => {
      asked.push(name);
      return (lists.get(name) as (cursor?: string) => Promise<ListPage>)(cursor);
    };
    connections.set(name, { name, protocol: "2025-11-25", closed: false, listPage } as unknown as ServerConnection);
  }
  const servers = {
    names: [...lists.keys()],
    connect: async (name: string) => ({ ok: true, connection: connections.get(name) }),
    connection: (name: string) => connections.get(name),
    generation: () => generation,
    onEvent: () => () => undefined,
    close: async () => undefined,
  } as unknown as Servers;
  const config = {
    mcpServers: {},
    limits: { hardResultBytes: 1, resultBytes: 1 },
    catalog: { limits: LIMITS, onInvalid: "withhold" },
  } as unknown as Config;
  const catalog = createCatalog({
    config,
    servers,
    ledger: { putSnapshot: async ({ id }: { id: string }) => void stored.push(id) } as unknown as Ledger,
    locals: [],
    injected: (server, name) => {
      slices.at(-1)?.push(`${server}/${name}`);
      return [];
    },
    hidden: () => undefined,
    redact: createRedactor(secrets),
    pause: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      slices.push([]);
    },
    steady: () => clock.now,
  });
  const changed = () => {
    generation += 1;
  };
  return { catalog, slices, stored, lists, changed, asked, clock };
}

async function assembled(catalog: Catalog, ...names: string[]) {
  const result = await catalog.assemble(names, undefined);
  if (!result.ok) throw new Error(result.problem);
  return result.snapshot;
}

describe("a large catalog", () => {
  it("is assessed in slices of few tools, whatever number of servers lists at the same time (slices-1)", async () => {
    const { catalog, slices } = world({ a: many(90), b: many(200), c: many(3) });
    const snapshot = await assembled(catalog, "a", "b", "c");
    expect(snapshot.tools).toHaveLength(293);
    expect(slices.flat()).toHaveLength(293);
    expect(Math.max(...slices.map((slice) => slice.length))).toBe(TOOLS_A_SLICE);
  });

  it("ends a slice early where tools are large (slices-1)", async () => {
    const description = "x".repeat(12_000);
    const { catalog, slices } = world({ a: many(60, { description }) });
    await assembled(catalog, "a");
    const most = Math.floor(CHARS_A_SLICE / description.length) + 1;
    expect(slices.flat()).toHaveLength(60);
    expect(Math.max(...slices.map((slice) => slice.length))).toBeLessThanOrEqual(most);
  });

  it("is assessed again only where a tool is not the same to the byte (reader-2, listing-3)", async () => {
    const { catalog, slices, lists } = world({ a: many(40) });
    const before = await assembled(catalog, "a");
    slices.length = 0;
    slices.push([]);
    expect((await catalog.verify("a")).ok).toBe(true);
    expect(await assembled(catalog, "a")).toBe(before);
    expect(slices.flat()).toEqual([]);

    lists.set("a", async () => page([...many(39), tool("tool_39", { description: "another" })]));
    await catalog.verify("a");
    const after = await assembled(catalog, "a");
    expect(slices.flat()).toEqual(["a/tool_39"]);
    expect(after.id).not.toBe(before.id);
    expect(after.tools[0]).toBe(before.tools[0]);
  });

  it("has the same id whether its tools were assessed in slices or at once", async () => {
    const { catalog } = world({ a: many(40) });
    expect(await assembled(catalog, "a")).toEqual(snapshotOf([listing("a", many(40))]));
  });

  it("is stored once for threads that begin at the same time", async () => {
    const { catalog, stored } = world({ a: many(2) });
    const snapshot = await assembled(catalog, "a");
    await Promise.all([catalog.publish(snapshot), catalog.publish(snapshot)]);
    await catalog.publish(snapshot);
    expect(stored).toEqual([snapshot.id]);
  });
});

describe("a listing", () => {
  it("is not replaced by one that was begun earlier and came later (listing-1)", async () => {
    const { catalog, lists } = world({ a: [] });
    let answer: (page: ListPage) => void = () => undefined;
    lists.set("a", () => new Promise((resolve) => (answer = resolve)));
    const early = catalog.verify("a");
    await new Promise((resolve) => setImmediate(resolve));
    lists.set("a", async () => page([tool("new")]));
    await catalog.verify("a");
    answer(page([tool("old")]));
    const verified = await early;
    expect(verified.ok && [...verified.digests.keys()]).toEqual(["new"]);
    expect([...(catalog.digests("a") ?? [])].map(([name]) => name)).toEqual(["new"]);
  });

  it("is asked for once by threads that begin together, and again once the server may list something else (listing-2)", async () => {
    const { catalog, lists, changed } = world({ a: [] });
    const answers: ((page: ListPage) => void)[] = [];
    lists.set("a", () => new Promise((resolve) => answers.push(resolve)));
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    const together = [assembled(catalog, "a"), assembled(catalog, "a")];
    await turn();
    together.push(assembled(catalog, "a"));
    await turn();
    expect(answers).toHaveLength(1);
    changed();
    const later = assembled(catalog, "a");
    await turn();
    expect(answers).toHaveLength(2);
    answers[1]?.(page([tool("new")]));
    expect((await later).tools.map((entry) => entry.tool)).toEqual(["new"]);
    answers[0]?.(page([tool("old")]));
    for (const snapshot of await Promise.all(together))
      expect(snapshot.tools.map((entry) => entry.tool)).toEqual(["new"]);
  });

  it("stays when a later one fails, and says so (listing-1)", async () => {
    const { catalog, lists } = world({ a: [tool("t")] });
    await catalog.list("a");
    lists.set("a", async () => ({ ok: false, problem: "it does not answer" }));
    expect(await catalog.verify("a")).toEqual({
      ok: false,
      problem: "page 1 failed: it does not answer",
      connected: true,
    });
    expect(await catalog.list("a")).toMatchObject({ status: "stale" });
    expect([...(catalog.digests("a") ?? [])]).toHaveLength(1);
  });

  it("has no secret in it: what a tool says is reworded, and a tool whose rules hold one is withheld (reader-1)", async () => {
    const secret = "canary-7f3e91c2";
    const { catalog } = world(
      {
        a: [
          tool("says", { description: `has ${secret}` }),
          tool("number", { inputSchema: { type: "object", properties: { n: { default: 123456 } } } }),
          tool("rule", { inputSchema: { type: "object", properties: { q: { const: secret } } } }),
          tool("fine"),
        ],
      },
      [secret, "123456"],
    );
    const snapshot = await assembled(catalog, "a");
    expect(snapshot.tools.map((entry) => entry.tool)).toEqual(["fine", "number", "says"]);
    expect(snapshot.tools[2]?.description).toBe("has [redacted]");
    expect(snapshot.tools[1]?.inputSchema).toEqual({ type: "object", properties: { n: { default: "[redacted]" } } });
    const reason = "its definition holds a value that the host keeps secret";
    expect(snapshot.withheld).toEqual([{ server: "a", tool: "rule", reason }]);
    expect([...(catalog.digests("a") ?? [])].map(([name]) => name)).toEqual(["says", "number", "fine"]);
  });

  it("may hold what is nested too deeply to be written out; its other tools stay", async () => {
    const deep = JSON.parse(`${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`);
    const { catalog } = world({ a: [tool("deep", { inputSchema: deep }), tool("fine")] });
    const snapshot = await assembled(catalog, "a");
    expect(snapshot.tools.map((entry) => entry.tool)).toEqual(["fine"]);
    expect(snapshot.withheld.map((row) => row.tool)).toEqual(["deep"]);
  });
});

describe("a list that changes while its pages are read (listing-4)", () => {
  /** Two pages; the server changes its list `times` times in between, and lists `after` from then on. */
  function moving(times: number) {
    const at = world({ a: [] });
    let changes = 0;
    const paged = async (cursor?: string): Promise<ListPage> => {
      const version = changes;
      if (cursor === undefined)
        return { ...page([tool("one", { description: `${version}` })]), nextCursor: "2" } as ListPage;
      if (changes < times) {
        changes += 1;
        at.changed();
      }
      return page([tool("two", { description: `${version}` })]);
    };
    at.lists.set("a", paged);
    return at;
  }

  // Half of the old list and half of the new one made a snapshot that no server ever had.
  it("is read again, so that all pages are of one list", async () => {
    const { catalog, asked } = moving(2);
    const { tools } = await assembled(catalog, "a");
    expect(tools.map(({ description }) => description)).toEqual(["2", "2"]);
    expect(asked).toHaveLength(6);
  });

  it("is taken where it comes twice, although the server says that it has changed", async () => {
    const { catalog, asked, changed, lists } = world({ a: [] });
    lists.set("a", async (cursor?: string) => {
      changed();
      return (cursor === undefined ? { ...page([tool("one")]), nextCursor: "2" } : page([tool("two")])) as ListPage;
    });
    expect((await catalog.list("a")).status).toBe("connected");
    expect(asked).toHaveLength(4);
  });

  it("is not read for ever", async () => {
    const { catalog, asked } = moving(99);
    expect((await catalog.list("a")).problem).toBe("its list changed 3 times while it was read");
    expect(asked).toHaveLength(6);
  });

  it("one page that was read whole is one list", async () => {
    const { catalog, asked, lists, changed } = world({ a: many(1) });
    lists.set("a", async () => {
      changed();
      return page(many(1));
    });
    expect((await catalog.list("a")).status).toBe("connected");
    expect(asked).toHaveLength(1);
  });
});

describe("what a claim compares (listing-5)", () => {
  // The server said that its list had changed and then answered with the old one, and a call went out against it.
  it("is not a list from before a change that the server said meanwhile", async () => {
    const { catalog, asked, lists, changed } = world({ a: [] });
    lists.set("a", async () => {
      if (asked.length === 1) changed();
      return page([tool("one", { description: asked.length === 1 ? "old" : "new" })]);
    });
    const found = await catalog.verify("a");
    expect(asked).toHaveLength(2);
    expect(found).toEqual({ ok: true, digests: catalog.digests("a") });
  });

  it("is no list at all where the server changes it again and again", async () => {
    const { catalog, asked, lists, changed } = world({ a: [] });
    lists.set("a", async () => {
      changed();
      return page([tool("one", { description: `${asked.length}` })]);
    });
    expect(await catalog.verify("a")).toEqual({
      ok: false,
      problem: "its list changed 3 times while it was read",
      connected: true,
    });
    expect(asked).toHaveLength(3);
  });

  // A server announced a change whenever it was listed, and nothing of it could be written to any more.
  it("is the list that comes twice, where the server says each time that it has changed", async () => {
    const { catalog, asked, lists, changed } = world({ a: [] });
    lists.set("a", async () => {
      changed();
      return page(many(1));
    });
    expect(await catalog.verify("a")).toEqual({ ok: true, digests: catalog.digests("a") });
    expect(asked).toHaveLength(2);
  });

  // Another run had listed the server in between; nothing was due, and the definition of before counted.
  it("is the newest list, also where one was begun for it before another run's", async () => {
    const { catalog, lists, changed } = world({ a: [tool("one", { description: "old" })] });
    const place = { run: {}, proposalId: "p1" };
    catalog.verifyAhead(["a"], place);
    await new Promise((resolve) => setImmediate(resolve)); // the server has listed
    changed();
    lists.set("a", async () => page([tool("one", { description: "new" })]));
    await catalog.list("a"); // another run's
    const found = await catalog.verify("a", place);
    expect(found.ok && found.digests.get("one")).toBe(catalog.digests("a")?.get("one"));
  });
});

describe("a list that is begun when a batch is judged", () => {
  const place = (run: object, proposalId = "p1") => ({ run, proposalId });

  it("counts for the claim of that batch in that run, and each server is listed once (ahead-1)", async () => {
    const { catalog, asked, clock } = world({ a: many(2), b: many(1) });
    const run = {};
    catalog.verifyAhead(["a", "b", "a"], place(run));
    clock.now += 250;
    expect(await catalog.verify("a", place(run))).toMatchObject({ ok: true, digests: expect.any(Map) });
    expect((await catalog.verify("b", place(run))).ok).toBe(true);
    expect(asked).toEqual(["a", "b"]);
  });

  // Whatever the server lists by then is what a claim must know.
  it.each([
    ["251 ms later", { later: 251 }],
    ["in another run", { other: { run: {} } }],
    ["for another batch", { other: { proposalId: "p2" } }],
    ["a second time", { again: true }],
    ["where the server said that its tools have changed", { moved: true }],
  ])("does not count %s (ahead-1)", async (_when, { later = 0, other = {}, again = false, moved = false }: When) => {
    const { catalog, asked, clock, changed, lists } = world({ a: many(1) });
    const run = {};
    catalog.verifyAhead(["a"], place(run));
    await new Promise((resolve) => setImmediate(resolve)); // the server has listed
    if (again) await catalog.verify("a", place(run));
    clock.now += later;
    lists.set("a", async () => page([tool("tool_0", { description: "another" })]));
    if (moved) changed();
    const before = catalog.digests("a")?.get("tool_0");
    const found = await catalog.verify("a", { ...place(run), ...other });
    expect(asked).toEqual(["a", "a"]);
    expect(found.ok && found.digests.get("tool_0")).not.toBe(before);
  });

  it("is begun for no one without a run of their own, and its failure is told once", async () => {
    const { catalog, asked, lists } = world({ a: many(1) });
    catalog.verifyAhead(["a"], { run: undefined, proposalId: "p1" });
    expect(asked).toEqual([]);
    const run = {};
    lists.set("a", async () => ({ ok: false, problem: "no answer" }) as ListPage);
    catalog.verifyAhead(["a"], place(run));
    expect(await catalog.verify("a", place(run))).toEqual({
      ok: false,
      problem: "page 1 failed: no answer",
      connected: true,
    });
    expect(asked).toEqual(["a"]);
  });
});

interface When {
  later?: number;
  other?: object;
  again?: boolean;
  moved?: boolean;
}
