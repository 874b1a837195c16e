// One signal of a run, many that listen to it.

import { tool } from "@langchain/core/tools";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { createServers } from "../../src/adapters/mcp/pool.js";
import { StdioServer } from "../../src/contracts/index.js";
import { bench } from "../support/in-process.js";

const b = bench();
const DONE = { say: "Done." };

let warned: string[] = [];
const warn = ({ name }: Error) => void warned.push(name);
beforeEach(() => {
  warned = [];
  process.on("warning", warn);
});
afterEach(() => {
  process.off("warning", warn);
});
/** Warnings are told in a later tick. */
const told = async () => {
  await new Promise((resolve) => setImmediate(resolve));
  return warned;
};

/** A host tool that listens to its call for as long as it runs. */
const note = tool(
  async ({ text }: { text: string }, { signal }: { signal?: AbortSignal }) => {
    signal?.addEventListener("abort", () => {});
    return text;
  },
  { name: "note", description: "Notes.", schema: z.object({ text: z.string() }) },
);

function start(steps: object[], limits: object) {
  const permissions = { allow: ["note", "read_result"] };
  const tools = { note: { effect: "read" } };
  const config = { mcpServers: {}, permissions, tools, limits: { calls: 40, ...limits } };
  return b.start({ config, steps: steps as never, tools: [note] as never });
}

// A batch of eleven read_result calls printed Node's warning of a leak on the host's stderr.
test.each([
  [11, 1],
  [11, 4],
  [12, 12],
  [30, 30],
])(
  "%i reads of results in one batch, %i side by side, add no listener to the run's signal",
  async (calls, parallelReads) => {
    const asked = Array.from({ length: calls }, (_, at) => ({
      name: "read_result",
      args: { ref: "0".repeat(64) },
      id: `r${at}`,
    }));
    const agent = await start([{ calls: asked }, DONE], { parallelReads });
    const turn = await agent.ask("go");
    expect(turn.report.operations.map(({ status }) => status)).toEqual(Array(calls).fill("failed"));
    expect(await told()).toEqual([]);
  },
);

test("nor do the host's own tools that listen to what they are given, over the steps of a turn", async () => {
  const step = (at: number) => ({
    calls: [1, 2, 3].map((n) => ({ name: "note", args: { text: "x" }, id: `c${at}-${n}` })),
  });
  const agent = await start([...Array.from({ length: 12 }, (_, at) => step(at)), DONE], { parallelReads: 3 });
  const turn = await agent.ask("go");
  expect(turn.report).toMatchObject({ status: "done", answer: "Done." });
  expect(turn.report.operations).toHaveLength(36);
  expect(await told()).toEqual([]);
});

test("nor do servers that are all opened at once, to the signal by which a pool is closed", async () => {
  const missing = StdioServer.parse({ type: "stdio", command: "toolgate-no-such-command", cwd: "/" });
  const names = Array.from({ length: 12 }, (_, at) => `s${at}`);
  const servers = createServers(Object.fromEntries(names.map((name) => [name, missing])), {
    now: () => 0,
    redact: (text) => text,
    lateAnswerMs: 0,
  });
  const opened = await Promise.all(names.map((name) => servers.connect(name)));
  expect(opened.map(({ ok }) => ok)).toEqual(Array(12).fill(false));
  await servers.close();
  expect(await told()).toEqual([]);
});
