// What every adapter of the `Servers` port must do, over each transport and protocol revision.
//
// A factory makes the adapter from configurations. The servers are real, and their log tells what reached them. The
// invariants (servers-1 to servers-5) stand in the header of `src/contracts/mcp-port.ts`.

import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { ServerConfig } from "../../src/contracts/index.js";
import type { CallEvidence, CallRequest, ServerConnection, Servers } from "../../src/contracts/mcp-port.js";
import { asks, connected, World } from "../support/mcp.js";

export type ServersFactory = (
  configs: Readonly<Record<string, ServerConfig>>,
  deps: { readonly lateAnswerMs: number },
) => Servers;

export const WAYS = ["stdio 2025-11-25", "stdio 2026-07-28", "http 2025-11-25", "http 2026-07-28"] as const;
export type Way = (typeof WAYS)[number];

const odd = { name: 7, description: null, inputSchema: "none" };
const page = { tools: [{ name: "act", inputSchema: { type: "object" } }, odd], nextCursor: "" };
const calls = {
  late: { do: "slow", ms: 900 },
  never: { do: "silent" },
  timeoutLike: { do: "answer", error: { code: -32001, message: "Request timed out", data: { timeout: 5 } } },
  closedLike: { do: "answer", error: { code: -32000, message: "Connection closed" } },
  mismatch: { do: "answer", error: { code: -32020, message: "header mismatch" } },
  more: { do: "answer", result: { resultType: "input_required", inputRequests: {}, requestState: "abc" } },
  strange: { do: "answer", result: { content: [{ type: "hologram", x: 1 }], structuredContent: [1] } },
  bare: { do: "answer", resultText: "null" },
  huge: { do: "huge", bytes: 300_000 },
  enormous: { do: "huge", bytes: 6_000_000 },
  deep: { do: "answer", resultText: `{"structuredContent":${"[".repeat(10_000)}${"]".repeat(10_000)}}` },
};

/** Declares the suite for one adapter. */
export function serversConformance(make: ServersFactory, ways: readonly Way[] = WAYS): void {
  describe.each(ways)("over %s", (way) => {
    const [transport, protocol] = way.split(" ") as ["stdio" | "http", "2025-11-25" | "2026-07-28"];
    const http = { format: "sse" };
    const pages = [page, { tools: [], nextCursor: "two" }, { tools: [] }];
    const lists = [{ pages }, { pages: [{ tools: [] }], afterListings: 2, notify: true }];
    const hostile = { protocol, calls, lists, ...(transport === "http" ? { http } : {}) };
    const world = new World();
    let servers: Servers;
    let connection: ServerConnection;

    beforeAll(async () => {
      const config = transport === "http" ? await world.http(hostile) : world.stdio(hostile);
      servers = world.track(make({ one: config }, { lateAnswerMs: 1_000 }));
      connection = await connected(servers, "one");
    });
    afterAll(() => world.end());

    /** Sends a call under an operation id, by which the server's log shows what became of it. */
    function call(operation: string, more: Partial<CallRequest>) {
      return connection.call(asks({ meta: { "toolgate/operationId": operation }, ...more }));
    }
    const seen = (operation: string) =>
      world.log("accepted", "effect").filter((event) => event.operationId === operation);
    const has = (event: "finished" | "cancelled") => (operation: string) =>
      world.log(event).some(({ n }) => n !== undefined && n === seen(operation)[0]?.n);
    const finished = has("finished");
    const cancelled = has("cancelled");

    test("an answered call leaves its raw result and its size", async () => {
      const { evidence, late } = call("ok", { arguments: { text: "grüße" } });
      const added = protocol === "2026-07-28" ? { resultType: "complete" } : {};
      expect(await evidence).toEqual({
        attempted: true,
        refused: false,
        how: "response",
        response: { result: { ...added, content: [{ type: "text", text: "done" }] } },
        bytes: protocol === "2026-07-28" ? 67 : 43,
      });
      expect(await late).toBeUndefined();
      expect(seen("ok")).toMatchObject([
        { event: "accepted", tool: "act", arguments: { text: "grüße" } },
        { event: "effect", tool: "act", arguments: { text: "grüße" } },
      ]);
    });

    test("the connection says which protocol it speaks and who the server is", () => {
      expect(connection.protocol).toBe(protocol);
      expect(connection.serverInfo).toEqual({ name: "hostile", version: "1.0.0" });
      expect(connection.closed).toBe(false);
      expect(servers.connection("one")).toBe(connection);
      expect(servers.names).toEqual(["one"]);
    });

    test("pages come raw, one at a time, odd tools included; an empty cursor is a cursor (servers-3)", async () => {
      expect(await connection.listPage(undefined, 5_000, 100_000)).toMatchObject({
        ok: true,
        tools: page.tools,
        nextCursor: "",
      });
      expect(await connection.listPage("", 5_000, 100_000)).toMatchObject({ ok: true, tools: [], nextCursor: "two" });
      const last = await connection.listPage("two", 5_000, 100_000);
      expect(last).toMatchObject({ ok: true, tools: [] });
      expect(last).not.toHaveProperty("nextCursor");
      expect(world.log("listed").map(({ cursor }) => cursor)).toEqual([null, "", "two"]);
    });

    test("a changed list raises the generation and is told (pool-3)", async () => {
      const before = servers.generation("one");
      const told = new Promise((resolve) => {
        servers.onEvent((event) => event.kind === "list_changed" && resolve(event.server));
      });
      expect(await connection.listPage(undefined, 5_000, 100_000)).toMatchObject({ ok: true });
      expect(await told).toBe("one");
      expect(servers.generation("one")).toBeGreaterThan(before);
    });

    test("a page above its limit is a problem, and the connection stays", async () => {
      expect(await connection.listPage(undefined, 5_000, 5)).toEqual({
        ok: false,
        problem: "a page of its tools is above 5 bytes",
      });
      expect(connection.closed).toBe(false);
    });

    test.each([
      ["timeoutLike", { code: -32001, message: "Request timed out", data: { timeout: 5 } }],
      ["closedLike", { code: -32000, message: "Connection closed" }],
    ])(
      "a server that answers with the error of a lost connection has answered (%s) (servers-1)",
      async (tool, error) => {
        expect(await call(tool, { tool }).evidence).toMatchObject({
          attempted: true,
          how: "response",
          response: { error },
        });
      },
    );

    test.each(["mismatch", "more"])(
      "an answer that asks for the request again gets none (%s) (servers-2) (http-2)",
      async (tool) => {
        const { response, how } = await call(tool, { tool }).evidence;
        expect(how).toBe("response");
        expect(response).toMatchObject(
          tool === "mismatch"
            ? { error: { code: -32020 } }
            : { result: { resultType: "input_required", requestState: "abc" } },
        );
        expect(seen(tool).filter(({ event }) => event === "accepted")).toHaveLength(1);
      },
    );

    test("a result no SDK accepts is evidence as it came (servers-3)", async () => {
      expect((await call("strange", { tool: "strange" }).evidence).response).toMatchObject({
        result: { content: [{ type: "hologram", x: 1 }], structuredContent: [1] },
      });
      expect(await call("bare", { tool: "bare" }).evidence).toMatchObject({
        how: "response",
        response: { result: null },
      });
    });

    // `JSON.parse` takes 50,000 nested brackets; `JSON.stringify` throws at about 5,000. The result came in and could
    // not be saved.
    test("a result nested too deep to be written out again is measured, not a crash", async () => {
      const { how, bytes } = await call("deep", { tool: "deep" }).evidence;
      expect({ how, bytes }).toEqual({ how: "response", bytes: 20_022 });
    });

    test.each(["huge", "enormous"])(
      "a result above `maxBytes` is not kept, and others go on (%s) (pending-request-2)",
      async (tool) => {
        const [big, small] = await Promise.all([
          call(tool, { tool }).evidence,
          call(`beside ${tool}`, { keepListeningMs: 0 }).evidence,
        ]);
        expect(big).toMatchObject({ attempted: true, how: "response", tooLarge: true });
        expect(big.bytes).toBeGreaterThan(100_000);
        expect(big).not.toHaveProperty("response");
        expect(small.how).toBe("response");
      },
    );

    test("a write is not cancelled at its deadline and its late answer is taken (servers-4) (connection-1)", async () => {
      const { evidence, late } = call("late", { tool: "late", deadlineMs: 150, keepListeningMs: 5_000 });
      const { attempted, how, response } = await evidence;
      expect({ attempted, how, response }).toEqual({ attempted: true, how: "deadline", response: undefined });
      expect(await late).toMatchObject({ attempted: true, how: "response", bytes: expect.any(Number) });
      expect(seen("late").map(({ event }) => event)).toEqual(["accepted", "effect"]);
      expect(cancelled("late")).toBe(false);
    });

    test("without an answer the listening ends in time (servers-4)", async () => {
      const { evidence, late } = call("never", { tool: "late", deadlineMs: 100, keepListeningMs: 100 });
      expect((await evidence).how).toBe("deadline");
      expect(await late).toBeUndefined();
      await vi.waitFor(() => expect(finished("never")).toBe(true), 5_000);
      expect(cancelled("never")).toBe(false);
    });

    // A slow tool was taken for a dead server: the client reconnected and sent the call a second time.
    test("one call at its deadline leaves the others and the connection alone", async () => {
      const [slow, quick] = await Promise.all([
        call("slow one", { tool: "never", deadlineMs: 100 }).evidence,
        call("quick one", { tool: "late", deadlineMs: 5_000 }).evidence,
      ]);
      expect([slow.how, quick.how]).toEqual(["deadline", "response"]);
      expect(servers.connection("one")).toBe(connection);
      expect(world.log("started")).toHaveLength(1);
    });

    // Servers often go on after a cancel, so a call that was cancelled after it was sent may still have happened.
    test("a cancelled read says so at once, and that it was sent", async () => {
      const stop = new AbortController();
      const { evidence, late } = call("stopped", { tool: "late", signal: stop.signal });
      await vi.waitFor(() => expect(seen("stopped")).not.toEqual([]));
      stop.abort();
      expect(await evidence).toMatchObject({ attempted: true, how: "aborted" });
      expect(await late).toBeUndefined();
      await vi.waitFor(() => expect(cancelled("stopped")).toBe(true));
    });

    test("a read is cancelled at its deadline", async () => {
      const signal = new AbortController().signal;
      const { evidence } = call("read", { tool: "late", deadlineMs: 300, signal });
      expect((await evidence).how).toBe("deadline");
      await vi.waitFor(() => expect(cancelled("read")).toBe(true));
    });

    test("a read cancelled before it was sent sends nothing", async () => {
      const { evidence } = call("never sent", { signal: AbortSignal.abort() });
      expect(await evidence).toMatchObject({ attempted: false, how: "aborted" });
      expect(seen("never sent")).toEqual([]);
    });

    test.each<[string, () => boolean]>([
      ["says no", () => false],
      [
        "throws",
        () => {
          throw new Error("no answer is no permission");
        },
      ],
    ])("nothing is sent when `maySend` %s", async (how, maySend) => {
      let asked = 0;
      const { evidence } = call(how, {
        maySend: () => {
          asked += 1;
          return maySend();
        },
      });
      expect(await evidence).toMatchObject({ attempted: false, refused: false, how: "error" });
      expect(asked).toBe(1);
      expect(seen(how)).toEqual([]);
    });

    test("concurrent connects share one attempt, and its connection is returned from then on (pool-1)", async () => {
      const again = await Promise.all([servers.connect("one"), servers.connect("one")]);
      expect(again.map((result) => result.ok && result.connection === connection)).toEqual([true, true]);
      expect(world.log("started")).toHaveLength(1);
    });

    test("a server nobody configured is a problem", async () => {
      expect(await servers.connect("two")).toEqual({ ok: false, problem: "no server of this name is configured" });
      expect(servers.connection("two")).toBeUndefined();
    });

    // This test must be the last, because it ends the connection that the tests above share.
    test("`close` waits for a write's answer, ends everything, and may be called twice (pool-4)", async () => {
      const { evidence } = call("last", { tool: "late" });
      await vi.waitFor(() => expect(seen("last")).not.toEqual([]));
      await Promise.all([servers.close(), servers.close()]);
      expect((await evidence).how).toBe("response");
      expect(connection.closed).toBe(true);
      expect(await servers.connect("one")).toEqual({ ok: false, problem: "toolgate is closing" });
      expect(await call("after", {}).evidence).toMatchObject<Partial<CallEvidence>>({
        attempted: false,
        how: "closed",
      });
      expect(seen("after")).toEqual([]);
    });
  });
}
