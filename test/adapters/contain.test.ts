// The bounds of what a server may do to this process, each by itself: errors in callbacks, floods, nesting, answers to nobody.

import type { Transport } from "@modelcontextprotocol/client";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Flood } from "../../src/adapters/mcp/flood.js";
import { Gathered } from "../../src/adapters/mcp/gathered.js";
import { deeperThan } from "../../src/adapters/mcp/measure.js";
import { Observer } from "../../src/adapters/mcp/observed-transport.js";
import { PendingRequest } from "../../src/adapters/mcp/pending-request.js";
import { contain } from "../../src/adapters/process/contain.js";
import { startedOf } from "../../src/create/early.js";

/** JSON text of `levels` arrays within one another. */
const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;

describe("a contained callback", () => {
  const fails = [
    () => {
      throw new Error("thrown");
    },
    () => {
      throw undefined;
    },
    () => Promise.reject(new Error("rejected")),
    async () => JSON.stringify(JSON.parse(nested(100_000))),
  ];

  // One bad message ended a host with 40 threads, because the SDK's handler threw inside an event of a pipe.
  test("neither throws nor leaves a rejection behind, whatever it and its `onFault` do (G13) (contain-1)", async () => {
    const unheard: unknown[] = [];
    const hear = (error: unknown) => unheard.push(error);
    process.on("unhandledRejection", hear);
    try {
      for (const callback of fails) for (const onFault of [undefined, ...fails]) contain(callback, onFault)();
      await new Promise((resolve) => setImmediate(resolve));
    } finally {
      process.off("unhandledRejection", hear);
    }
    expect(unheard).toEqual([]);
  });

  test("is called with what comes, and its faults are told", async () => {
    const told: unknown[] = [];
    const contained = contain(
      (word: string, how: "throws" | "rejects" | "returns") => {
        if (how === "throws") throw word;
        return how === "rejects" ? Promise.reject(word) : word;
      },
      (error) => told.push(error),
    );
    for (const how of ["throws", "rejects", "returns"] as const) contained(`it ${how}`, how);
    await Promise.resolve();
    expect(told).toEqual(["it throws", "it rejects"]);
  });
});

describe("nesting", () => {
  test("is counted in containers, to the level", () => {
    expect([deeperThan(3, 1), deeperThan(1, {}), deeperThan(0, [])]).toEqual([false, false, true]);
    for (const levels of [1, 2, 511, 512, 50_000]) {
      const value = { a: 1, b: JSON.parse(nested(levels - 1) || "0"), c: [] };
      expect([deeperThan(Math.max(levels, 2), value), deeperThan(levels - 1, value)]).toEqual([false, true]);
    }
    expect(deeperThan(2, JSON.parse('{"__proto__":{"x":{}}}'))).toBe(true);
  });

  test("is found wherever it is", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.integer({ min: 0, max: 8 }), (value, levels) => {
        const depth = (item: unknown): number =>
          typeof item === "object" && item !== null ? 1 + Math.max(0, ...Object.values(item).map(depth)) : 0;
        expect(deeperThan(levels, value)).toBe(depth(value) > levels);
      }),
    );
  });
});

test("bytes that come in any number of parts are the same bytes", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 3_000 }), { maxLength: 40 }), (parts) => {
      const gathered = new Gathered();
      for (const part of parts) gathered.add(part);
      expect(Buffer.compare(gathered.whole(), Buffer.concat(parts))).toBe(0);
      expect(gathered.bytes).toBe(gathered.whole().byteLength);
    }),
  );
});

// A server that sent its answer byte by byte made four megabytes of text cost more than one gigabyte.
test("four million parts of one byte cost about four megabytes (G13)", () => {
  const before = process.memoryUsage();
  const gathered = new Gathered();
  const byte = Uint8Array.of(120);
  for (let count = 0; count < 4_000_000; count++) gathered.add(byte);
  const after = process.memoryUsage();
  const used = (now: NodeJS.MemoryUsage) => now.heapUsed + now.arrayBuffers;
  expect(used(after) - used(before)).toBeLessThan(64_000_000);
  expect(gathered.whole().byteLength).toBe(4_000_000);
});

describe("a flood", () => {
  function flood() {
    const at = { ms: 0 };
    const ended: string[] = [];
    return {
      at,
      ended,
      flood: new Flood(
        () => at.ms,
        (reason) => ended.push(reason),
      ),
    };
  }

  test("100 requests within any second are taken, and one more ends it, once (flood-1) (flood-3)", () => {
    const { at, ended, flood: it } = flood();
    for (let second = 0; second < 5; second++, at.ms += 1_000)
      for (let count = 0; count < 100; count++) expect(it.asked()).toBe(true);
    at.ms -= 1; // within the second of the last hundred
    expect([it.asked(), it.asked(), it.over]).toEqual([false, false, true]);
    expect(ended).toEqual(["it sent more than 100 requests within a second"]);
  });

  test("100 answers may wait, and one more ends it; those that were taken count no more (flood-2)", async () => {
    const { ended, flood: it } = flood();
    for (let count = 0; count < 500; count++) {
      it.answering(count % 2 === 0 ? Promise.resolve() : Promise.reject(new Error("gone")));
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (let count = 0; count < 100; count++) it.answering(new Promise(() => {}));
    expect([it.over, ended]).toEqual([false, []]);
    it.answering(new Promise(() => {}));
    expect(ended).toEqual(["it does not take the answers to its requests: 100 are waiting"]);
  });
});

describe("what the SDK is handed (observe-5)", () => {
  /** An observed transport whose SDK throws at whatever it is handed, as it does with what it cannot write out. */
  function observed(handle: (message: unknown) => void = () => {}) {
    const handed: unknown[] = [];
    const told: unknown[] = [];
    const ended: string[] = [];
    const transport: Transport = {
      start: () => Promise.resolve(),
      close: () => Promise.resolve(),
      send: () => Promise.resolve(),
      onerror: (error) => told.push(error),
      onmessage: (message) => {
        handed.push(message);
        handle(message);
      },
    };
    const hooks = { onListChanged: () => {}, onClose: () => "gone", onFlood: (reason: string) => ended.push(reason) };
    const observer = new Observer({ ...hooks, steady: () => 0 });
    observer.attach(transport, { posts: false });
    const receive = (message: unknown) => transport.onmessage?.(message as never);
    return { transport, observer, receive, handed, told, ended };
  }
  const ask = (id: number, method = "tools/call") => ({ jsonrpc: "2.0" as const, id, method, params: {} });
  const facts = (pending: PendingRequest) => pending.evidence(pending.end ?? "deadline", (text) => text);

  test("an error that it throws is told, and goes no further (G13)", () => {
    const { receive, told } = observed(() => {
      throw new Error("cannot");
    });
    receive({ jsonrpc: "2.0", method: "notifications/x" });
    receive({ jsonrpc: "2.0", id: 1, method: "ping" });
    expect(told).toEqual([new Error("cannot"), new Error("cannot")]);
  });

  test("nothing deep, no endless id, and no answer to what nobody asked", async () => {
    const { transport, receive, handed } = observed();
    await transport.send(ask(7, "initialize"));
    const deep = JSON.parse(nested(513)) as unknown;
    for (const message of [
      { method: "notifications/x", params: { deep } },
      { method: "notifications/tools/list_changed", deep },
      { id: 1, method: "ping", params: deep },
      { id: "x".repeat(1_025), method: "ping" },
      { id: 8, result: {} },
      { id: "7", result: {} },
      { id: null, error: { code: 1, message: "no" } },
      { error: { code: 1, message: "no" } },
      { id: [7], result: { deep } },
    ])
      receive({ jsonrpc: "2.0", ...message });
    expect(handed).toEqual([]);
    receive({ jsonrpc: "2.0", id: 7, result: { first: true } });
    receive({ jsonrpc: "2.0", id: 7, result: { second: true } });
    expect(handed).toEqual([{ jsonrpc: "2.0", id: 7, result: { first: true } }]);
  });

  test("instead of an answer of its own that is too deep or too large, an error in words", async () => {
    const { transport, observer, receive, handed } = observed();
    await transport.send(ask(7, "initialize"));
    await transport.send(ask(8, "server/discover"));
    receive({ jsonrpc: "2.0", id: 7, result: JSON.parse(nested(513)) });
    observer.oversize(8, 5_000_000);
    expect(handed).toEqual([
      { jsonrpc: "2.0", id: 7, error: { code: -32600, message: "its answer is nested deeper than 512 levels" } },
      { jsonrpc: "2.0", id: 8, error: { code: -32600, message: "its answer is above the size limit" } },
    ]);
  });

  // A result of ten thousand levels is an answer like another: it is cut where it is shown, and a write that it answers is done.
  test("a call's answer is kept as it came, however deep it is, and the SDK is handed an empty one (pending-request-2)", async () => {
    for (const body of [
      { result: { content: [], structuredContent: JSON.parse(nested(511)) } },
      { result: JSON.parse(nested(90_000)) },
      { error: { code: 5, message: "no", data: JSON.parse(nested(90_000)) } },
    ]) {
      const { transport, observer, receive, handed } = observed();
      const pending = new PendingRequest(1_000_000, () => true);
      await observer.run(pending, () => transport.send(ask(1)));
      receive({ jsonrpc: "2.0", id: 1, ...body });
      const { how, response } = facts(pending);
      expect(how).toBe("response");
      const { result, error } = response as { result?: unknown; error?: { data?: unknown } };
      const [kept, given] = "error" in body ? [error?.data, body.error?.data] : [result, body.result];
      expect(kept === given).toBe(true); // the same object: a comparison would go as deep as it is
      expect(handed).toEqual([{ jsonrpc: "2.0", id: 1, result: { resultType: "complete", content: [], tools: [] } }]);
    }
  });

  // The handlers of calls that were never answered stayed in the SDK, each with a timer of 24 days.
  test("of a released request nothing is kept, and its answer goes nowhere (observe-6)", async () => {
    const { transport, observer, receive, handed } = observed();
    const pending = new PendingRequest(1_000_000, () => true);
    await observer.run(pending, () => transport.send(ask(1)));
    observer.release(pending);
    const empty = { jsonrpc: "2.0", id: 1, result: { resultType: "complete", content: [], tools: [] } };
    expect(handed).toEqual([empty]);
    receive({ jsonrpc: "2.0", id: 1, result: { content: [], late: true } });
    observer.release(pending);
    observer.loseAll("gone");
    expect([handed, facts(pending).how]).toEqual([[empty], "deadline"]);
  });

  test("no request after the hundredth within a second, and nothing else then either (flood-3)", () => {
    const { receive, handed, ended } = observed();
    for (let id = 0; id < 250; id++) receive({ jsonrpc: "2.0", id, method: "roots/list" });
    receive({ jsonrpc: "2.0", method: "notifications/x" });
    expect([handed.length, ended]).toEqual([100, ["it sent more than 100 requests within a second"]]);
  });

  test("as many notifications as come", () => {
    const { receive, handed, ended } = observed();
    for (let count = 0; count < 5_000; count++) receive({ jsonrpc: "2.0", method: "notifications/progress" });
    expect([handed.length, ended]).toEqual([5_000, []]);
  });
});

// A server that was started early and said without end that its list has changed filled the memory with that word.
test("what is kept for whoever connects first does not grow with what a server repeats (early-2)", async () => {
  type Listener = Parameters<Parameters<typeof startedOf>[0]["onEvent"]>[0];
  let tell: Listener = () => {};
  const refused = { ok: false, problem: "it is a test" } as const;
  const pool = {
    names: ["one"],
    connect: () => Promise.resolve(refused),
    connection: () => undefined,
    generation: () => 0,
    onEvent: (listener: Listener) => {
      tell = listener;
      return () => {};
    },
    close: () => Promise.resolve(),
  };
  const servers = startedOf(pool, ["one"]);
  const seen: string[] = [];
  servers.onEvent(({ kind }) => seen.push(kind));
  for (const kind of ["connecting", "connected", ...Array(9_000).fill("list_changed"), "closed"])
    tell({ server: "one", kind });
  await servers.connect("one");
  expect(seen).toEqual(["connecting", "connected", "list_changed", "closed"]);
});
