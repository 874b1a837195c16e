// What toolgate takes from LangGraph beyond its public interface, and the version in which it was found. When this test
// fails after an upgrade, read the files it names before the version here is changed.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { AIMessage } from "@langchain/core/messages";
import {
  Annotation,
  type LangGraphRunnableConfig,
  MemorySaver,
  MessagesAnnotation,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { JsonPlusSerializer } from "@langchain/langgraph-checkpoint";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { describe, expect, test } from "vitest";
import { light, route } from "../../src/langgraph/light.js";
import { narrow } from "../../src/langgraph/narrow.js";

const require = createRequire(import.meta.url);

function installed(name: string): string {
  let folder = require.resolve(name);
  for (;;) {
    folder = folder.slice(0, folder.lastIndexOf("/"));
    try {
      const found = JSON.parse(readFileSync(`${folder}/package.json`, "utf8")) as { name?: string; version: string };
      if (found.name === name) return found.version;
    } catch {
      // a folder without a package.json
    }
  }
}

const has = (of: object, names: readonly string[]) => names.filter((name) => !(name in of));

describe("LangGraph as it is pinned", () => {
  test.each([
    ["@langchain/langgraph", "1.7.3"],
    ["@langchain/langgraph-checkpoint", "1.2.2"],
    ["@langchain/langgraph-checkpoint-sqlite", "1.0.4"],
    ["@langchain/langgraph-checkpoint-postgres", "1.0.5"],
  ])("%s is %s", (name, version) => {
    expect(installed(name)).toBe(version);
  });

  test("a compiled graph streams through `_streamIterator` and finds its checkpointer by `_resolveCheckpointer` (src/langgraph/held-graph.ts)", () => {
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("node", () => ({}))
      .addEdge(START, "node")
      .compile();
    expect(has(graph, ["_streamIterator", "_resolveCheckpointer"])).toEqual([]);
  });

  test("a route between two nodes opens no run of its own, and a plain function does (src/langgraph/light.ts)", async () => {
    const started = async (chosen: Parameters<typeof routed>[0]) => {
      const runs: string[] = [];
      await routed(chosen).invoke(
        { messages: [] },
        { callbacks: [{ handleChainStart: (...[, , , , , , , name]) => void runs.push(name ?? "") }] },
      );
      return runs.filter((name) => name === "RunnableLambda");
    };
    const choose = () => "second" as const;
    const routed = (chosen: typeof choose | ReturnType<typeof route<unknown, "second">>) =>
      new StateGraph(MessagesAnnotation)
        .addNode("first", () => ({}))
        .addNode("second", () => ({}))
        .addEdge(START, "first")
        .addConditionalEdges("first", chosen, ["second"])
        .compile();
    expect(await started(choose)).toEqual(["RunnableLambda"]);
    expect(await started(route(choose))).toEqual([]);
  });

  test("an edge reads what its branch's reader reads, the node's own update included (src/langgraph/narrow.ts)", async () => {
    const seen: unknown[] = [];
    const choose = (state: object) => {
      seen.push(state);
      return "second" as const;
    };
    const State = Annotation.Root({ a: Annotation<number>, b: Annotation<number> });
    const graph = new StateGraph(State)
      .addNode("first", () => ({ a: 1 }))
      .addNode("second", () => ({}))
      .addEdge(START, "first")
      .addConditionalEdges("first", route(choose), ["second"]);
    await graph.compile().invoke({ b: 2 });
    narrow(graph, { first: ["a"] });
    await graph.compile().invoke({ b: 2 });
    expect(seen).toEqual([{ a: 1, b: 2 }, { a: 1 }]);
  });

  test("a light node is given the state and the run's configuration (src/langgraph/light.ts)", async () => {
    const seen: unknown[] = [];
    const node = light("first", (state: object, config: LangGraphRunnableConfig) => {
      seen.push(
        state,
        config.executionInfo?.threadId,
        typeof config.writer,
        typeof config.configurable?.["__pregel_read"],
      );
      return {};
    });
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("first", node as never)
      .addEdge(START, "first")
      .compile({ checkpointer: new MemorySaver() });
    await graph.invoke({ messages: [] }, { configurable: { thread_id: "t1" } });
    expect(seen).toEqual([{ messages: [] }, "t1", "function", "function"]);
  });

  test("a running task has its saver under `__pregel_checkpointer`, and is inside of another graph where `__pregel_read` is a function (src/langgraph/durability.ts, held-graph.ts)", async () => {
    const seen: Record<string, unknown>[] = [];
    const node = (_state: unknown, config: LangGraphRunnableConfig) => {
      seen.push({ ...config.configurable, executionInfo: config.executionInfo });
      return { messages: [new AIMessage("done")] };
    };
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("node", node)
      .addEdge(START, "node")
      .compile({ checkpointer: new MemorySaver() });
    await graph.invoke({ messages: [] }, { configurable: { thread_id: "t1" } });
    expect(seen).toHaveLength(1);
    expect(typeof (seen[0]?.["__pregel_checkpointer"] as { getTuple?: unknown })?.getTuple).toBe("function");
    expect(typeof seen[0]?.["__pregel_read"]).toBe("function");
    expect(seen[0]?.["executionInfo"]).toMatchObject({ threadId: "t1", checkpointId: expect.any(String) });
  });

  test("a checkpointer is asked in the ways that name a thread by its key, and in no other (keyed-1) (src/langgraph/keyed-saver.ts)", () => {
    const names = (of: object) => Object.getOwnPropertyNames(of).filter((name) => name !== "constructor");
    const base = names(Object.getPrototypeOf(MemorySaver.prototype) as object);
    expect(base.sort()).toEqual(["get", "getDeltaChannelHistory", "getNextVersion", "toJSON"]);
    const asked = ["deleteThread", "getDeltaChannelHistory", "getTuple", "list", "put", "putWrites"];
    const own = (prefix: string) => (name: string) => !name.startsWith(prefix);
    expect(names(MemorySaver.prototype).filter(own("_")).sort()).toEqual(asked);
    const sqlite = [...asked.filter((name) => name !== "getDeltaChannelHistory"), "migratePendingSends", "setup"];
    expect(names(SqliteSaver.prototype).filter(own("_")).sort()).toEqual(sqlite.sort());
  });

  test("savers and serializer have the members that ours override or call (src/adapters/sqlite/checkpointer.ts, postgres/saver.ts, src/langgraph/serde.ts)", () => {
    expect(has(SqliteSaver.prototype, ["setup", "getDeltaChannelHistory"])).toEqual([]);
    const dumps = ["_dumpBlobs", "_dumpWrites", "_dumpCheckpoint", "_dumpMetadata", "getDeltaChannelHistory", "setup"];
    expect(has(PostgresSaver.prototype, dumps)).toEqual([]);
    expect(has(JsonPlusSerializer.prototype, ["_dumps", "dumpsTyped", "loadsTyped"])).toEqual([]);
  });
});
