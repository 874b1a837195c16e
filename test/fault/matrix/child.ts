// The host process: a toolgate as any host puts it together, with a scripted model and with points at its ports.

import { Command } from "@langchain/langgraph";
import type { ScriptedModel } from "../../../src/adapters/model/scripted.js";
import { createToolgate, type Toolgate, ToolgateError } from "../../../src/index.js";
import { tapCommits } from "./commits.js";
import { failDisk } from "./disk.js";
import type { Action, Go, Plan, Told, Words } from "./plan.js";
import { Halts, say } from "./points.js";
import { type Promised, promise } from "./promises.js";
import { race } from "./race.js";
import { TappedModel, tapHandles, tapPorts, tapServers } from "./taps.js";
import { readWal, type WalPlace } from "./wal.js";

const plan = JSON.parse(process.argv[2] ?? "") as Plan;
const handles = tapHandles((db) => {
  if (plan.power?.copyPages) db.pragma(`wal_autocheckpoint = ${plan.power.copyPages}`);
});
let synced = atStart();
tapCommits(({ full, end }) => {
  if (full) synced = end;
});
let offsetMs = plan.offsetMs ?? 0;
let toolgate: Toolgate;
let runs = 0;
const errors: string[] = [];
const halts = new Halts(plan.halts, {
  follow,
  witness: plan.witness ? () => words(plan.threadId) : undefined,
  synced: () => synced,
});
tapServers(halts, plan.wirePath);
process.stdin.on("end", () => process.kill(process.pid, "SIGKILL")).resume(); // the runner is gone

/** What the host before this one left is on the disk: it ended in peace, or this is what its loss of power left. */
function atStart(): WalPlace | undefined {
  const { store } = plan.config as { store: { kind: string; path?: string } };
  const wal = store.kind === "sqlite" ? readWal(`${store.path}/toolgate.sqlite`) : undefined;
  return wal && { salts: wal.salts, frames: wal.commits.at(-1) ?? 0 };
}

/** Remembers what people were told. */
function promised(what: Promised): void {
  if (plan.power) promise(plan.power.promisesPath, what);
}

/** Promises that the ledger makes when one of its methods returns. Call it before the points are made. */
function promiseByLedger({ host: { ledger } }: Toolgate): void {
  const { answer, settle, settleLate } = ledger;
  ledger.answer = async (answers) => {
    const results = await answer(answers);
    for (const { verdict } of answers)
      promised({ what: "answered", approvalId: verdict.approvalId, type: verdict.type });
    return results;
  };
  ledger.settle = async (settlement) => {
    const stored = await settle(settlement);
    const { operationId, outcome } = settlement;
    if (stored) promised({ what: "settled", operationId, status: outcome.status });
    return stored;
  };
  ledger.settleLate = async (settlement) => {
    const stored = await settleLate(settlement);
    const { operationId, outcome } = settlement;
    if (stored) promised({ what: "settled", operationId, status: outcome.status });
    return stored;
  };
}

function follow(go: Go): void {
  if (go.offsetMs !== undefined) offsetMs = go.offsetMs;
  if (go.patienceMs !== undefined) for (const db of handles) db.pragma(`busy_timeout = ${go.patienceMs}`);
  if (go.disk !== undefined) failDisk(handles, go.disk);
}

/** One run of the graph. Resolves with what it asks. */
async function run(input: unknown, threadId: string): Promise<string | undefined> {
  const config = { configurable: { thread_id: threadId }, durability: "sync" };
  const result = await toolgate.graph.invoke(input as never, config as never);
  const { __interrupt__: asked, messages = [] } = result as {
    __interrupt__?: { value: Asking }[];
    messages?: MessageLike[];
  };
  promised({ what: "returned", asks: idsIn(asked ?? []), messages: messages.map(toldOf) });
  runs += 1;
  await halts.at(`run.${runs}.after`);
  return asked?.[0]?.value.kind;
}

function ask(threadId: string, question: string): Promise<string | undefined> {
  return run({ messages: [{ role: "user", content: question }] }, threadId);
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

async function on(threadId: string, question?: string): Promise<void> {
  const again = question !== undefined && (await words(threadId)).messages.length === 0;
  let asks = await (again ? ask(threadId, question) : run(null, threadId));
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

const ACCEPTED = { by: "ann", note: "looked at the server's log" };

async function act(action: Action, threadId: string): Promise<unknown> {
  switch (action.do) {
    case "ask":
      return ask(threadId, action.question);
    case "yes":
      return yes(threadId);
    case "on":
      return on(threadId, action.question);
    case "on when free":
      return onWhenFree(threadId);
    case "accept":
      return toolgate.ledger.accept(threadId, ACCEPTED);
    case "accept restored":
      return toolgate.ledger.acceptRestored(ACCEPTED);
    case "look":
      return toolgate.ledger.unknowns(threadId);
    case "deny":
      for (const { operation } of (await words(threadId)).rows)
        await toolgate.ledger.resolve(operation.id, "did_not_happen");
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
  const messages = (state.values as { messages?: MessageLike[] }).messages ?? [];
  return { rows, asked, messages: messages.map(toldOf), errors: [] };
}

/** The value of an interrupt, as far as it is looked at. */
interface Asking {
  readonly kind: string;
  readonly actionRequests?: readonly { readonly approvalId: string }[];
}

const idsIn = (interrupts: readonly { readonly value?: unknown }[]): string[] =>
  interrupts.flatMap(({ value }) => ((value as Asking).actionRequests ?? []).map((one) => one.approvalId));

/** What the thread itself asks. */
async function asksOf(threadId: string): Promise<string[]> {
  const { tasks } = await toolgate.graph.getState({ configurable: { thread_id: threadId } });
  return idsIn(tasks.flatMap(({ interrupts }) => interrupts));
}

interface MessageLike {
  getType(): string;
  text: string;
  tool_calls?: { id?: string }[];
  tool_call_id?: string;
  artifact?: { operationId?: string; status?: string };
}

function toldOf(message: MessageLike): Told {
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
  promiseByLedger(toolgate);
  tapPorts(toolgate, halts);
  toolgate.host.servers.onEvent(({ server, kind }) => {
    if (kind === "closed") say({ at: "lost", server });
  });
  const attempt = (action: Action, threadId: string) => act(action, threadId).then(() => "", codeOf);
  if (plan.power?.looks) {
    const found = { words: await words(plan.threadId), asks: await asksOf(plan.threadId) };
    say({ at: "found", found });
  }
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
