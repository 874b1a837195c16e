// What leaves the graph beside results: errors of runs and looks, what is stored of them, and what handlers hear (G11).

import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ToolgateError } from "../../src/index.js";
import { redactedError } from "../../src/observation/index.js";
import { bench } from "../support/in-process.js";
import { SayingModel } from "../support/saying-model.js";

const SECRET = "hush-Hush-0001";
const b = bench();
const config = (more: object = {}) => ({
  mcpServers: { hostile: b.server("hostile", { SETTING: SECRET, HOSTILE: JSON.stringify({ tools: [] }) }) },
  ...more,
});
const at = (thread_id: string) => ({ configurable: { thread_id }, durability: "sync" as const });
const question = { messages: [{ role: "user", content: "go" }] } as never;

/** Everything that somebody could print of it. */
function printed(value: unknown, seen = new Set<unknown>()): string {
  if (typeof value !== "object" || value === null) return String(value);
  if (seen.has(value)) return "";
  seen.add(value);
  return Object.getOwnPropertyNames(value)
    .map((key) => `${key}: ${printed((value as Record<string, unknown>)[key], seen)}`)
    .join("\n");
}

/** Keeps what it hears, in a private field, as a class of the host's may. */
class Listener extends BaseCallbackHandler {
  name = "listener";
  readonly #heard: string[] = [];
  get heard() {
    return this.#heard.join("\n");
  }
  #keep(event: string, told: unknown) {
    this.#heard.push(`${event} ${printed(told)}`);
  }
  override handleLLMError(error: unknown) {
    this.#keep("llm error", error);
  }
  override handleChainError(error: unknown) {
    this.#keep("chain error", error);
  }
  override handleToolStart(_tool: unknown, input: string) {
    this.#keep("tool start", input);
  }
  override handleToolEnd(output: unknown) {
    this.#keep("tool end", output);
  }
  override handleToolError(error: unknown) {
    this.#keep("tool error", error);
  }
}

class ProviderError extends Error {
  override readonly name = "ProviderError";
  readonly #status = 401;
  readonly body = { error: { message: `no such key: ${SECRET}`, list: [SECRET.toUpperCase()] } };
  get status() {
    return this.#status;
  }
}
const failing = () =>
  new SayingModel(() => {
    throw new ProviderError(`401: key ${SECRET} is wrong`, {
      cause: new AggregateError([new Error(SECRET)], `x ${SECRET}`),
    });
  });

describe("a model that fails with a secret in its words (held-8)", () => {
  // The provider's error quoted the key it had refused. The host logged the error, and the store kept it.
  test.each(["invoke", "stream", "streamEvents"] as const)(
    "%s: not in the error, in the state, in what handlers hear",
    async (way) => {
      const saver = new MemorySaver();
      const agent = await b.start({ config: config(), options: { model: failing(), checkpointer: saver } });
      const { graph } = agent.toolgate;
      const listener = new Listener();
      const told: string[] = [];
      const options = {
        ...at("t"),
        callbacks: [listener, { handleLLMError: (error: unknown) => void told.push(printed(error)) }],
      };
      const run = async () => {
        if (way === "invoke") return graph.invoke(question, options);
        const chunks =
          way === "stream"
            ? await graph.stream(question, { ...options, streamMode: ["debug", "messages"] })
            : graph.streamEvents(question, { ...options, version: "v2" });
        for await (const chunk of chunks as AsyncIterable<unknown>) told.push(JSON.stringify(chunk));
      };
      const error = await run().then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(Error);
      expect((error as Error).message).toContain("401: key [redacted] is wrong");
      expect(listener.heard).toContain("llm error");
      expect(listener.heard).toContain("chain error");
      expect(listener.heard).toContain("401: key [redacted] is wrong");
      const state = await graph.getState(at("t"));
      const stored = JSON.stringify([saver.storage, saver.writes], (_key, value) =>
        value instanceof Uint8Array ? Buffer.from(value).toString() : value,
      );
      for (const text of [printed(error), listener.heard, told.join("\n"), JSON.stringify(state), stored]) {
        expect(text.toLowerCase()).not.toContain(SECRET.toLowerCase());
      }
      expect(told.length).toBeGreaterThan(0);
    },
  );
});

describe("a tool of the host", () => {
  const calls = [{ calls: [{ name: "own", args: { text: "a" }, id: "c1" }] }, { say: "Done." }];
  const local = (body: () => unknown) =>
    tool(body as never, { name: "own", description: "d", schema: z.object({ text: z.string() }) });

  test.each([
    [
      "fails",
      () => {
        throw new Error(`cannot log in with ${SECRET}`);
      },
      "tool error",
    ],
    ["answers", () => `logged in with ${SECRET}`, "tool end"],
  ])("that %s with a secret: handlers hear none", async (_how, body, event) => {
    const listener = new Listener();
    const agent = await b.start({
      config: config({ permissions: { allow: ["own"] } }),
      steps: calls,
      tools: [local(body as () => unknown)],
    });
    const turn = await agent.ask("go", "t", { callbacks: [listener] });
    expect(listener.heard).toContain(`${event} `);
    expect(listener.heard).toContain("with [redacted]");
    expect(listener.heard).not.toContain(SECRET);
    expect(turn.lines.join("\n")).not.toContain(SECRET);
  });
});

describe("a checkpointer that fails with a secret in its words (held-8)", () => {
  test.each([
    ["invoke", (graph) => graph.invoke(question, at("t"))],
    ["getState", (graph) => graph.getState(at("t"))],
    [
      "getStateHistory",
      async (graph) => {
        for await (const _ of graph.getStateHistory(at("t"))) void _;
      },
    ],
    ["updateState", (graph) => graph.updateState(at("t"), { messages: [] } as never)],
  ] as [string, (graph: Awaited<ReturnType<typeof b.start>>["toolgate"]["graph"]) => Promise<unknown>][])(
    "%s",
    async (_door, act) => {
      class Broken extends MemorySaver {
        override getTuple(): never {
          throw new Error(`no login as postgres://u:${SECRET}@db`);
        }
        // biome-ignore lint/correctness/useYield: it fails first
        override async *list(): AsyncGenerator<never> {
          throw new Error(`no login as postgres://u:${SECRET}@db`);
        }
      }
      const agent = await b.start({ config: config(), options: { checkpointer: new Broken() } });
      const error = await act(agent.toolgate.graph).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(printed(error)).toContain("[redacted]");
      expect(printed(error)).not.toContain(SECRET);
    },
  );
});

// A literal of `env` was a word of a tool's name. The tool was withheld, and its description said something else.
test("a literal of the configuration withholds no tool and changes no definition; it is taken out of a result", async () => {
  const named = {
    name: `get_${SECRET}`.replaceAll("-", "_"),
    description: `Says ${SECRET}.`,
    inputSchema: { type: "object", properties: { [SECRET]: { type: "string" } } },
  };
  const hostile = {
    tools: [named, { name: "look", inputSchema: { type: "object" } }],
    calls: { look: { do: "answer", effect: false, result: { content: [{ type: "text", text: `I have ${SECRET}` }] } } },
  };
  const agent = await b.start({
    config: {
      mcpServers: { hostile: b.server("hostile", { SETTING: SECRET, HOSTILE: JSON.stringify(hostile) }) },
      permissions: { allow: ["mcp__hostile__look"] },
      tools: { mcp__hostile__look: { effect: "read" } },
    },
    steps: [{ calls: [{ name: "mcp__hostile__look", args: {}, id: "c1" }] }, { say: "Done." }],
  });
  const turn = await agent.ask("go");
  const shown = agent.model.requests[0]?.tools.find(({ name }) => name.includes("get_"));
  expect(shown?.description).toContain(`Says ${SECRET}.`);
  expect(JSON.stringify(shown?.schema)).toContain(SECRET);
  expect(turn.lines.join("\n")).toContain("\nI have [redacted]\n");
});

describe("an error without secrets (error-1)", () => {
  const redact = (text: string) => text.replaceAll("secret", "[redacted]");
  test("is the same error where it holds none", () => {
    for (const error of [
      new Error("a", { cause: new Error("b") }),
      new DOMException("a", "AbortError"),
      "text",
      undefined,
      { a: [1] },
    ]) {
      expect(redactedError(error, redact)).toBe(error);
    }
  });

  test("is of its class, with everything else as it was", () => {
    const error = new ToolgateError("store_failed", "a secret", "a secret hint", { data: { a: ["secret", 1] } });
    const clean = redactedError(error, redact);
    expect(clean).toBeInstanceOf(ToolgateError);
    expect([clean.code, clean.message, clean.hint, clean.data]).toEqual([
      "store_failed",
      "a [redacted]",
      "a [redacted] hint",
      { a: ["[redacted]", 1] },
    ]);
    expect(error.message).toBe("a secret");
    const aborted = redactedError(new DOMException("a secret", "AbortError"), redact);
    expect([aborted.name, aborted.message, aborted instanceof DOMException]).toEqual([
      "AbortError",
      "a [redacted]",
      true,
    ]);
  });

  test("that is its own cause, or deep, has an end", () => {
    const round: Error & { cause?: unknown } = new Error("secret");
    round.cause = round;
    expect(redactedError(round, redact).message).toBe("[redacted]");
    let deep = new Error("secret");
    for (let n = 0; n < 1_000; n++) deep = new Error(`secret ${n}`, { cause: deep });
    expect(redactedError(deep, redact).message).toBe("[redacted] 999");
  });
});
