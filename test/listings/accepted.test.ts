// First lists in the host's own stores, and what is told by them.

import Database from "better-sqlite3";
import { afterEach, describe, expect, test } from "vitest";
import { createMemoryLedger } from "../../src/adapters/memory/ledger.js";
import { createSqliteLedger } from "../../src/adapters/sqlite/ledger.js";
import { sha256, type ToolEntry } from "../../src/contracts/index.js";
import type { Ledger } from "../../src/ledger/port.js";
import { createAccepted } from "../../src/listings/accepted.js";
import { createFirstLists } from "../../src/listings/first-lists.js";

const SECRET = { secret: "a-secret-for-tests-that-is-long-enough", previous: [] };
const deps = { now: () => 0, steady: () => 0, liveness: () => "gone" as const };
const known = (...names: string[]) =>
  names.map((name) => ({ name, digest: sha256(name), description: name, inputSchema: {} }));
const entry = (tool: string, digest = sha256(tool)): ToolEntry => ({
  alias: `mcp__docs__${tool}`,
  server: "docs",
  tool,
  description: tool,
  inputSchema: {},
  digest,
});

const open: Database.Database[] = [];
afterEach(() => {
  for (const db of open.splice(0)) db.close();
});
const stores: Readonly<Record<string, () => Ledger>> = {
  memory: () => createMemoryLedger(deps),
  sqlite: () => {
    const db = new Database(":memory:");
    open.push(db);
    return createSqliteLedger(db, deps);
  },
};

describe.each(Object.keys(stores))("first lists in the store `%s`", (kind) => {
  const ledger = () => (stores[kind] as () => Ledger)();
  const names = (found: { kind: string; tools?: ReadonlyMap<string, unknown> }) => [
    found.kind,
    ...(found.tools?.keys() ?? []),
  ];

  // Two hosts of two releases started together, and each believed that its own list was the first.
  test("the first one stays, for every host and after later lists (first-list-1)", async () => {
    const store = ledger();
    const [one, two] = [
      createFirstLists({ ledger: store, seals: SECRET }),
      createFirstLists({ ledger: store, seals: SECRET }),
    ];
    expect(names(await one.of("a", "docs"))).toEqual(["none"]);
    await Promise.all([one.keep("a", "docs", () => known("x")), two.keep("a", "docs", () => known("x", "y"))]);
    const kept = names(await one.of("a", "docs"));
    expect(names(await two.of("a", "docs"))).toEqual(kept);
    await one.keep("a", "docs", () => known("z"));
    const third = createFirstLists({ ledger: store, seals: SECRET });
    await third.keep("a", "docs", () => known("z"));
    expect(names(await third.of("a", "docs"))).toEqual(kept);
    expect(kept.slice(0, 2)).toEqual(["kept", "x"]);
  });

  test("scope and server have one each, and names that look alike are different ones", async () => {
    const lists = createFirstLists({ ledger: ledger(), seals: undefined });
    await lists.keep('a"', "docs", () => known("x"));
    await lists.keep("a", '"docs', () => known("y"));
    expect(names(await lists.of('a"', "docs"))).toEqual(["kept", "x"]);
    expect(names(await lists.of("a", '"docs'))).toEqual(["kept", "y"]);
    expect(names(await lists.of("a", "docs"))).toEqual(["none"]);
  });

  test("a server without tools has a first list, too", async () => {
    const store = ledger();
    await createFirstLists({ ledger: store, seals: SECRET }).keep("a", "docs", () => []);
    expect(names(await createFirstLists({ ledger: store, seals: SECRET }).of("a", "docs"))).toEqual(["kept"]);
  });

  test("what was sealed with a former secret still holds; under another one there is none (first-list-2)", async () => {
    const store = ledger();
    await createFirstLists({ ledger: store, seals: SECRET }).keep("a", "docs", () => known("x"));
    const next = "another-secret-for-tests-that-is-long";
    const rotated = { secret: next, previous: [SECRET.secret] };
    expect(names(await createFirstLists({ ledger: store, seals: rotated }).of("a", "docs"))).toEqual(["kept", "x"]);
    // A later list would stand before the first one, because what is sealed with the newest secret is looked for first.
    await createFirstLists({ ledger: store, seals: rotated }).keep("a", "docs", () => known("z"));
    expect(names(await createFirstLists({ ledger: store, seals: rotated }).of("a", "docs"))).toEqual(["kept", "x"]);
    const forgotten = { secret: next, previous: [] };
    expect(names(await createFirstLists({ ledger: store, seals: forgotten }).of("a", "docs"))).toEqual(["none"]);
  });

  test("a list is read once in a process (first-list-3)", async () => {
    const store = ledger();
    const reads: string[] = [];
    const counting = {
      putSnapshot: (body: never) => store.putSnapshot(body),
      snapshot: (id: string) => {
        reads.push(id);
        return store.snapshot(id);
      },
    };
    await createFirstLists({ ledger: store, seals: SECRET }).keep("a", "docs", () => known("x"));
    const lists = createFirstLists({ ledger: counting, seals: SECRET });
    for (let n = 0; n < 5; n++) {
      await lists.keep("a", "docs", () => known("z"));
      expect(names(await lists.of("a", "docs"))).toEqual(["kept", "x"]);
    }
    expect(reads).toHaveLength(2);
  });
});

describe("what a kept list survives (first-list-4)", () => {
  test.each([
    ["a run's, a kill", "kill" as const, ["kill", "kill"]],
    ["that of whoever stores nothing after it, a loss of power", undefined, ["power-loss", "power-loss"]],
  ])("%s", async (_, survives, expected) => {
    const asked: string[] = [];
    const ledger = {
      putSnapshot: async (_body: unknown, of: string) => void asked.push(of),
      snapshot: async () => undefined,
    };
    await createFirstLists({ ledger, seals: SECRET }).keep("a", "docs", () => known("x"), survives);
    expect(asked).toEqual(expected);
  });
});

describe("what another hand changed in the store (first-list-2)", () => {
  const change = async (with_: (bodies: Map<string, Record<string, unknown>>) => void) => {
    const bodies = new Map<string, Record<string, unknown>>();
    const ledger = {
      putSnapshot: async (body: { id: string }) => void bodies.set(body.id, JSON.parse(JSON.stringify(body))),
      snapshot: async (id: string) => bodies.get(id) as never,
    };
    await createFirstLists({ ledger, seals: SECRET }).keep("a", "docs", () => known("x"));
    with_(bodies);
    return (await createFirstLists({ ledger, seals: SECRET }).of("a", "docs")).kind;
  };
  const pointer = (bodies: Map<string, Record<string, unknown>>) =>
    [...bodies.values()].find((one) => "list" in one) ?? {};
  const list = (bodies: Map<string, Record<string, unknown>>) =>
    [...bodies.values()].find((one) => "tools" in one) ?? {};

  test.each<[string, (bodies: Map<string, Record<string, unknown>>) => void]>([
    ["a tool was added to the list", (bodies) => void (list(bodies)["tools"] as object[]).push(...known("wipe"))],
    [
      "a digest in the list was changed",
      (bodies) => Object.assign((list(bodies)["tools"] as object[])[0] ?? {}, { digest: sha256("y") }),
    ],
    ["the list was taken out", (bodies) => void bodies.delete(String(list(bodies)["id"]))],
    ["its seal was taken away", (bodies) => void delete pointer(bodies)["seal"]],
    ["it names another list", (bodies) => Object.assign(pointer(bodies), { list: sha256("other") })],
    ["it names another scope", (bodies) => Object.assign(pointer(bodies), { scope: "b" })],
    ["it is no such record", (bodies) => Object.assign(pointer(bodies), { more: 1 })],
  ])("%s: it is not believed", async (_, edit) => {
    expect(await change(edit)).toBe("edited");
  });

  test("and without a change it is", async () => {
    expect(await change(() => {})).toBe("kept");
  });
});

describe("what is new", () => {
  const accepted = (lock: Record<string, ReturnType<typeof known>> | undefined, first: string[] | undefined) => {
    const servers = Object.fromEntries(Object.entries(lock ?? {}).map(([name, tools]) => [name, { tools }]));
    const made = createAccepted({
      ledger: createMemoryLedger(deps),
      seals: undefined,
      lock: lock && { version: 1, servers, digest: sha256("") },
      listed: () => first && known(...first),
    });
    const keptThen = async (tool: ToolEntry) => {
      await made.keep("a", ["docs"]);
      return made.newsOf("a", tool);
    };
    return { ...made, keptThen };
  };
  const brief = (news: { kind: string; pinned: boolean } | undefined) => news && [news.kind, news.pinned];

  test("a pinned server is judged by its pins, another one by its first list (accepted-1)", async () => {
    const both = accepted({ docs: known("x") }, ["x", "y"]);
    expect(brief(await both.keptThen(entry("x")))).toBeUndefined();
    expect(brief(await both.keptThen(entry("y")))).toEqual(["new", true]);
    expect(brief(await both.keptThen(entry("x", sha256("other"))))).toEqual(["changed", true]);
    const other = accepted({ elsewhere: known("x") }, ["x", "y"]);
    expect(brief(await other.keptThen(entry("y")))).toBeUndefined();
    expect(brief(await other.keptThen(entry("z")))).toEqual(["new", false]);
    expect([both.isPinned("docs"), other.isPinned("docs"), other.isPinned("elsewhere")]).toEqual([true, false, true]);
  });

  test("where no first list is kept, everything is new (accepted-2)", async () => {
    const news = await accepted(undefined, undefined).keptThen(entry("x"));
    expect(news).toEqual({
      kind: "new",
      pinned: false,
      text: "the first list of `docs` is not kept, so every tool of it counts as new",
    });
  });

  test("the host's own tools are never new (accepted-3)", async () => {
    const own = { ...entry("x"), server: "local", alias: "x" };
    expect(await accepted({ local: [] }, undefined).keptThen(own)).toBeUndefined();
  });

  test("a name with hidden characters is shown as they are", async () => {
    const news = await accepted({ docs: [] }, undefined).keptThen(entry("x\u202e"));
    expect(news?.text).toBe("`x\\u{202E}` of `docs` is new: it is not among the tools that were pinned");
  });
});
