// The host process: a toolgate as any host puts it together, with a scripted model and with points at its ports.

import { Command } from "@langchain/langgraph";
import type { ScriptedModel } from "../../../src/adapters/model/scripted.js";
import { createToolgate, type Toolgate, ToolgateError } from "../../../src/index.js";
import { failDisk } from "./disk.js";
import type { Action, Go, Plan, Told, Words } from "./plan.js";
import { Halts, say } from "./points.js";
import { race } from "./race.js";
import { TappedModel, tapHandles, tapPorts, tapServers } from "./taps.js";

const plan = JSON.parse(process.argv[2] ?? "") as Plan;
const handles = tapHandles();
let offsetMs = plan.offsetMs ?? 0;
let toolgate: Toolgate;
const errors: string[] = [];
const halts = new Halts(plan.halts, {
  follow,
  witness: plan.witness ? () => words(plan.threadId) : undefined,
  synchronous: () => [...handles].map((db) => Number(db.pragma("synchronous", { simple: true }))),
});
tapServers(halts, plan.wirePath);
process.stdin.on("end", () => process.kill(process.pid, "SIGKILL")).resume(); // the runner is gone

function follow(go: Go): void {
  if (go.offsetMs !== undefined) offsetMs = go.offsetMs;
  if (go.patienceMs !== undefined) for (const db of handles) db.pragma(`busy_timeout = ${go.patienceMs}`);
  if (go.disk !== undefined) failDisk(handles, go.disk);
}

/** One run of the graph. Resolves with what it asks. */
async function run(input: unknown, threadId: string): Promise<string | undefined> {
  const config = { configurable: { thread_id: threadId }, durability: "sync" };
  const result = await toolgate.graph.invoke(input as never, config as never);
  const { __interrupt__: asked } = result as { __interrupt__?: { value: { kind: string } }[] };
  return asked?.[0]?.value.kind;
}

async function yes(threadId: string): Promise<string | undefined> {
  return (await yesTo(threadId))();
}

/** A yes to everything that is asked now, ready to be given. */
async function yesTo(threadId: string): Promise<() => Promise<string | undefined>> {
  const open = await toolgate.ledger.requests(threadId);
  const decisions = Object.fromEntries(open.map((one) => [one.approvalId, { type: "approve" }]));
  return () => run(new Command({ resume: { decisions } }), threadId);
}

async function answer(threadId: string): Promise<() => Promise<string>> {
  const give = await yesTo(threadId);
  return () => give().then(() => "", codeOf);
}

async function on(threadId: string): Promise<void> {
  let asks = await run(null, threadId);
  while (asks === "approval") asks = await yes(threadId);
}

const PAUSE_MS = 50;

async function onWhenFree(threadId: string): Promise<void> {
  for (;;) {
    try {
      return await on(threadId);
    } catch (error) {
      if (codeOf(error) !== "already_running") throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS)); // a lease that lapses tells nobody
    }
  }
}

async function act(action: Action, threadId: string): Promise<unknown> {
  switch (action.do) {
    case "ask":
      return run({ messages: [{ role: "user", content: action.question }] }, threadId);
    case "yes":
      return yes(threadId);
    case "on":
      return on(threadId);
    case "on when free":
      return onWhenFree(threadId);
    case "look":
      return toolgate.ledger.unknowns(threadId);
  }
}

function codeOf(error: unknown): string {
  if (error instanceof ToolgateError) return error.code;
  const { code, name } = error as { code?: unknown; name?: unknown };
  return String(code ?? name);
}

/** What the ledger and the messages say now. */
async function words(threadId: string): Promise<Words> {
  const { ledger } = toolgate.host;
  const rows = await ledger.operations(threadId);
  const asked = await ledger.asked(rows.map((row) => row.operation.id));
  const state = await toolgate.graph.getState({ configurable: { thread_id: threadId } });
  const messages = (state.values as { messages?: Parameters<typeof toldOf>[0][] }).messages ?? [];
  return { rows, asked, messages: messages.map(toldOf), errors: [] };
}

function toldOf(message: {
  getType(): string;
  text: string;
  tool_calls?: { id?: string }[];
  tool_call_id?: string;
  artifact?: { operationId?: string; status?: string };
}): Told {
  return {
    type: message.getType(),
    text: message.text,
    ...(message.tool_calls ? { calls: message.tool_calls.map((call) => call.id ?? "") } : {}),
    ...(message.tool_call_id ? { answers: message.tool_call_id } : {}),
    ...(message.artifact?.operationId ? { operationId: message.artifact.operationId } : {}),
    ...(message.artifact?.status ? { status: message.artifact.status } : {}),
  };
}

async function main(): Promise<void> {
  toolgate = await createToolgate({
    config: plan.config,
    model: new TappedModel(plan.steps as ConstructorParameters<typeof ScriptedModel>[0], halts),
    now: () => Date.now() + offsetMs,
    ...(plan.machine === undefined ? {} : { machine: plan.machine }),
  });
  tapPorts(toolgate, halts);
  toolgate.host.servers.onEvent(({ server, kind }) => {
    if (kind === "closed") say({ at: "lost", server });
  });
  const attempt = (action: Action, threadId: string) => act(action, threadId).then(() => "", codeOf);
  if (plan.races) await race(plan.actions, { attempt, answer, words });
  else {
    for (const action of plan.actions) {
      const error = await attempt(action, plan.threadId);
      errors.push(error);
      say({ at: "acted", action: action.do, error });
    }
    say({ at: "done", words: { ...(await words(plan.threadId)), errors } });
  }
  await toolgate.close();
  say({ at: "closed" });
  process.exit(0);
}

main().catch((error: Error) => {
  say({ error: error.stack ?? String(error) });
  process.exit(1);
});
