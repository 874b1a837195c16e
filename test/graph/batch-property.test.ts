// Any batch, any person, any moment: what a conversation and a server's log must look like afterwards.
//
// One agent for all runs, with its store in memory and one real server; each run is a thread of its own. The model's
// script
// and the person's answers are drawn together, so that a run repeats by its seed.

import fc from "fast-check";
import { expect, test } from "vitest";
import type { Agent, Turn } from "../support/agent.js";
import { bench } from "../support/in-process.js";
import { formatProblems } from "../support/provider-format.js";

const SEED = 20_261_129;
const RUNS = 40;
const TIME = 180_000;
const b = bench();

/** Tools by what the host says of them. `lose` is a write whose answer is an error: nobody knows what became of it. */
const TOOLS = ["read", "look", "act", "lose", "pay", "drop"] as const;
const ALLOWED = ["read", "act", "lose"];
const READS = ["read", "look"];
const config = () => ({
  mcpServers: {
    hostile: b.server("hostile", {
      HOSTILE: JSON.stringify({
        tools: TOOLS.map((name) => ({
          name,
          inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
        })),
        calls: { lose: { do: "answer", error: { code: -32603, message: "lost" } } },
      }),
    }),
  },
  permissions: {
    allow: ALLOWED.map((name) => `mcp__hostile__${name}`),
    deny: ["mcp__hostile__drop"],
  },
  tools: { mcp__hostile__read: { effect: "read" }, mcp__hostile__look: { effect: "read" } },
  store: { kind: "memory" },
});

interface Call {
  readonly name: string;
  /** As a provider sent it: an object, or text that is none. */
  readonly args: unknown;
  readonly id: string;
}

const args = fc.oneof(
  { weight: 8, arbitrary: fc.record({ text: fc.constantFrom("a", "b", "c") }) },
  fc.constantFrom<unknown>(
    {},
    { text: 5 },
    { text: "\ud800" },
    { text: "a", lc: 1 },
    "{bad",
    "[]",
    '{"text":"a","text":"b"}',
  ),
);
const call: fc.Arbitrary<Call> = fc.record({
  name: fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...TOOLS.map((name) => `mcp__hostile__${name}`)) },
    fc.constantFrom("mcp__hostile__nope", "act", ""),
  ),
  args,
  id: fc.constantFrom("same", "", "c1", "c2", "c3", "c4", "c5"),
});
const batch = fc.array(call, { minLength: 1, maxLength: 6 });
const turn = fc.array(batch, { minLength: 1, maxLength: 2 });

/** What a person does when they are asked something. `bits` says what becomes of each question, in turn. */
const move = fc.record({
  how: fc.constantFrom("answer", "answer", "answer", "some", "garbage", "leave it and write"),
  bits: fc.array(fc.constantFrom("approve", "approve", "reject", "edit", "edit badly"), { minLength: 6, maxLength: 6 }),
});
type Move = typeof move extends fc.Arbitrary<infer T> ? T : never;

interface Action {
  readonly name: string;
  readonly args: object;
  readonly approvalId: string;
}

/** One run: plays the turns on a thread and returns every yes that was given, as `tool arguments`. */
async function play(agent: Agent, threadId: string, turns: number, moves: readonly Move[]) {
  const yeses: string[] = [];
  let next = 0;
  let last: Turn | undefined;
  for (let at = 0; at < turns; at++) {
    last = await agent.ask(`${threadId} turn ${at}`, threadId);
    while (last.interrupt !== undefined) {
      const { how, bits } = moves[next++] ?? { how: "answer", bits: Array<string>(6).fill("reject") };
      if (how === "leave it and write") {
        last = await agent.ask(`${threadId} never mind`, threadId);
        continue;
      }
      last = await agent.resume(how === "garbage" ? { decisions: "yes" } : answer(last, how, bits, yeses), threadId);
    }
    expect(formatProblems([...last.messages])).toEqual([]);
  }
  return { yeses, messages: last?.messages ?? [] };
}

function answer(turn: Turn, how: string, bits: readonly string[], yeses: string[]): unknown {
  if (turn.interrupt?.["kind"] === "result_unknown") {
    const type = bits[0] === "approve" ? "happened" : "leave";
    return { resolutions: Object.fromEntries(turn.report.unknowns.map((one) => [one.operationId, { type }])) };
  }
  const actions = (turn.interrupt as unknown as { actionRequests: Action[] }).actionRequests;
  const answered = how === "some" ? actions.slice(0, 1) : actions;
  const decisions = answered.map((action, index) => [
    action.approvalId,
    decide(action, bits[index % 6] ?? "reject", yeses),
  ]);
  return { decisions: Object.fromEntries(decisions) };
}

function decide({ name, args: shown }: Action, bit: string, yeses: string[]): unknown {
  const edited = bit === "edit" ? { text: "edited" } : { text: 5 };
  switch (bit) {
    case "approve":
      yeses.push(said(name, shown));
      return { type: "approve" };
    case "reject":
      return { type: "reject", message: "no" };
    default:
      yeses.push(said(name, edited));
      return { type: "edit", editedAction: { name, args: edited } };
  }
}

const said = (alias: string, given: unknown) => `${alias} ${JSON.stringify(given)}`;

/** What is wrong with what the server did for a thread; empty when every effect was allowed or said yes to. */
async function unlawful(agent: Agent, threadId: string, yeses: readonly string[]): Promise<string[]> {
  const own = new Set((await agent.toolgate.host.ledger.operations(threadId)).map((row) => row.operation.id));
  const left = [...yeses];
  const seen = new Set<string>();
  const ids = new Set<unknown>();
  return b
    .log("accepted")
    .filter((event) => own.has(event.operationId as string))
    .flatMap((event) => {
      const tool = String(event.tool);
      const words = said(`mcp__hostile__${tool}`, event.arguments);
      const write = !READS.includes(tool);
      const problems: string[] = [];
      if (write && ids.has(event.operationId)) problems.push(`${words}: sent twice`);
      if (tool === "drop") problems.push(`${words}: denied`);
      if (typeof (event.arguments as { text?: unknown }).text !== "string") problems.push(`${words}: invalid`);
      // An allowed write is allowed once; saying the same again needs a yes.
      const free = ALLOWED.includes(tool) && !(write && seen.has(words));
      const yes = left.indexOf(words);
      if (!free && yes < 0) problems.push(`${words}: nobody said yes`);
      if (!free && yes >= 0) left.splice(yes, 1);
      ids.add(event.operationId);
      seen.add(words);
      return problems;
    });
}

test(`any batches, any answers: one tool message a call, no effect without an allow or a yes for it (seed ${SEED}) (G3) (G4) (G8)`, {
  timeout: TIME,
}, async () => {
  const scripts = new Map<string, readonly (readonly Call[])[]>();
  const step = ({ messages }: { messages: readonly { getType(): string; text: string }[] }) => {
    const human = messages.findLast((message) => message.getType() === "human")?.text ?? "";
    const behind = messages.slice(messages.findLastIndex((message) => message.getType() === "human"));
    const calls = scripts.get(human)?.[behind.filter((message) => message.getType() === "ai").length];
    return calls === undefined ? { say: "Done." } : { calls: calls as { name: string; args: object; id: string }[] };
  };
  const agent = await b.start({ config: config(), steps: Array(200).fill(step) });
  let run = 0;
  const tally = { sent: 0, yes: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.array(turn, { minLength: 1, maxLength: 2 }),
      fc.array(move, { maxLength: 8 }),
      async (turns, moves) => {
        const threadId = `run ${run++}`;
        for (const [at, batches] of turns.entries()) scripts.set(`${threadId} turn ${at}`, batches);
        const { yeses } = await play(agent, threadId, turns.length, moves);
        expect(await unlawful(agent, threadId, yeses)).toEqual([]);
        tally.yes += yeses.length;
      },
    ),
    { seed: SEED, numRuns: RUNS },
  );
  tally.sent = b.log("accepted").length;
  expect(tally.sent).toBeGreaterThan(RUNS); // it was not all refused
  expect(tally.yes).toBeGreaterThan(RUNS / 2);
});
