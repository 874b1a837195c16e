// Check: the invariants, judged by what really happened.
//
//   simulated-1. A write is sent at most once, and never after its outcome was settled.
//   simulated-2. A write is sent only under an allow rule or a person's yes to exactly these arguments, and a yes
//                serves one operation.
//   simulated-3. At the send the ledger says `dispatching`.
//   simulated-4. An identical write of the thread is sent again only under a person's yes, unless the host allows
//                repeats.
//   simulated-5. While another write of the thread is unknown, none is sent.
//   simulated-6. `ok` is said only of what took effect, `failed` only of what did not, or by a person's word or the
//                server's own record; a write that was refused or not available had no effect.
//   simulated-7. Unknown is said where evidence is missing, and nowhere else.
//   simulated-8. Each call has exactly one tool message, directly behind its AI message, and it says what the ledger
//                says.
//   simulated-9. A write is not sent once a person's `did_not_happen`, or a server's, was taken.

import type { AIMessage, BaseMessage, ToolMessage } from "@langchain/core/messages";
import type { OperationRow } from "../../src/contracts/index.js";
import { outcomeOf } from "../../src/contracts/index.js";
import { type Approval, canonical, type Send, violate } from "./facts.js";
import type { SharedLedger } from "./ledger.js";
import { aliasOf } from "./server.js";
import type { World } from "./world.js";

/** Looks at a write as it leaves. (simulated-1 to simulated-5) */
export async function checkSend(world: World, ledger: SharedLedger, send: Send): Promise<void> {
  const { facts, history } = world;
  facts.sends.push(send);
  if (send.tool.effect !== "write") return;
  const name = history.name("op", send.operationId);
  const row = await ledger.row(send.operationId);
  const others = facts.sends.filter((one) => one !== send && one.tool.effect === "write");
  if (others.some((one) => one.operationId === send.operationId))
    violate(facts, "double send", `${name} is sent again`); // simulated-1
  if (row?.state !== "dispatching") {
    violate(facts, "not dispatching at the send", `${name} is ${row?.state ?? "in no row"} as it is sent`); // simulated-3
    if (row === undefined) return;
  }
  const reason = outcomeOf(row)?.reason;
  if (reason === "resolved" || reason === "read_back")
    violate(facts, "send after a person's word", `${name} is sent, and ${outcomeOf(row)?.message}`); // simulated-9
  const allowed = send.tool.decision === "allow" && made(world, send);
  const approval = approvalOf(world, send, row, allowed);
  if (!approval && !allowed) violate(facts, "effect without approval", `${name} is sent and nobody allowed it`); // simulated-2
  if (approval) approval.usedBy = send.operationId;
  await checkEarlier(world, ledger, send, row, approval, others);
}

/** simulated-4, simulated-5 */
async function checkEarlier(
  { facts, history, plan }: World,
  ledger: SharedLedger,
  send: Send,
  row: OperationRow,
  approval: Approval | undefined,
  others: readonly Send[],
): Promise<void> {
  const name = history.name("op", send.operationId);
  const rows = new Map((await ledger.rows(row.threadId)).map((one) => [one.operation.id, one]));
  const unknown = [...rows.values()].find(
    (one) =>
      one.operation.id !== send.operationId &&
      one.operation.effect === "write" &&
      outcomeOf(one)?.status === "result_unknown",
  );
  if (unknown)
    violate(facts, "send while halted", `${name} is sent while ${history.name("op", unknown.operation.id)} is unknown`);
  if (approval || send.tool.repeat === "allow" || plan.hosts.length === 0) return;
  const same = others.find(
    (one) =>
      one.tool.name === send.tool.name &&
      canonical(one.args) === canonical(send.args) &&
      one.operationId !== send.operationId &&
      standsAsDone(rows.get(one.operationId)),
  );
  if (same)
    violate(facts, "repeat without a person", `${name} is the same write as ${history.name("op", same.operationId)}`);
}

function standsAsDone(row: OperationRow | undefined): boolean {
  const status = outcomeOf(row)?.status;
  return row !== undefined && (row.state !== "settled" || status === "ok" || status === "result_unknown");
}

/**
 * A yes to this very write that served no other. One given in order says yes to whatever stood at its place; a write that
 * is allowed anyway uses none of those up.
 */
function approvalOf(world: World, send: Send, row: OperationRow, allowed: boolean): Approval | undefined {
  const free = world.facts.approvals.filter(
    (one) => one.threadId === row.threadId && (one.usedBy === undefined || one.usedBy === send.operationId),
  );
  const exact = free.find(
    (one) =>
      one.alias === aliasOf(send.tool.name) &&
      canonical(one.args) === canonical(send.args) &&
      one.operationId === (one.edited ? row.operation.replaces : send.operationId),
  );
  return exact ?? (allowed ? undefined : free.find((one) => one.inOrder));
}

function made(world: World, send: Send): boolean {
  return world.facts.made.has(canonical([aliasOf(send.tool.name), send.args]));
}

/** Looks at every row of a thread at the end of a run. (simulated-6, simulated-7) */
export async function checkRows(world: World, ledger: SharedLedger, threads: readonly string[]): Promise<void> {
  for (const threadId of threads)
    for (const row of await ledger.rows(threadId)) {
      if (row.operation.effect === "write") checkRow(world, row);
    }
}

function checkRow(world: World, row: OperationRow): void {
  const { facts, history } = world;
  const { id } = row.operation;
  const name = history.name("op", id);
  const effects = facts.effects.filter((one) => one.operationId === id).length;
  const told = facts.told.get(id) ?? [];
  const said = (type: string) => facts.words.some((one) => one.operationId === id && one.type === type);
  const readBack = (found: string) => facts.readBacks.some((one) => one.operationId === id && one.found === found);
  if (effects > 1) violate(facts, "double send", `${name} took effect ${effects} times`);
  if (row.state === "dispatching") violate(facts, "wedged", `${name} is still being sent`);
  switch (outcomeOf(row)?.status) {
    case "ok":
      if (outcomeOf(row)?.reason === "resolved") {
        if (!said("happened")) violate(facts, "false ok", `${name}: nobody said that it happened`);
      } else if (effects === 0) violate(facts, "false ok", `${name} is ok and had no effect`);
      else if (!told.includes("ok") && !readBack("happened"))
        violate(facts, "false ok", `${name} is ok and no one said so`);
      return;
    case "failed":
      if (outcomeOf(row)?.reason === "resolved") {
        if (!said("did_not_happen")) violate(facts, "false failed", `${name}: nobody said that it did not happen`);
      } else if (effects > 0) violate(facts, "false failed", `${name} failed and took effect`);
      else if (!told.includes("failed") && !readBack("did_not_happen"))
        violate(facts, "false failed", `${name} failed and no one said so`);
      return;
    case "rejected":
    case "unavailable":
      if (effects > 0)
        violate(facts, "effect of a refused write", `${name} is ${outcomeOf(row)?.status} and took effect`);
      return;
    case "result_unknown": {
      const sent = facts.sends.some((one) => one.operationId === id);
      const missing = told.includes("result_unknown") || facts.troubled;
      if (!missing || (!sent && !facts.troubled))
        violate(facts, "wrongly unknown", `${name}: told ${told.join(", ") || "nothing"}`);
      return;
    }
    case undefined:
      return;
  }
}

/** Looks at a conversation at the end of a run. (simulated-8) */
export async function checkMessages(
  world: World,
  ledger: SharedLedger,
  threadId: string,
  messages: readonly BaseMessage[],
): Promise<void> {
  const { facts } = world;
  const wrong = (what: string) => violate(facts, "format fault", `${threadId}: ${what}`);
  const rows = new Map((await ledger.rows(threadId)).map((row) => [row.operation.id, row]));
  let open: string[] = [];
  for (const message of messages) {
    if (message.getType() === "tool") {
      const { tool_call_id: callId, artifact } = message as ToolMessage;
      if (!open.includes(callId)) wrong("a tool message answers no open call");
      open = open.filter((one) => one !== callId);
      const { operationId, status } = (artifact ?? {}) as { operationId?: string; status?: string };
      const row = operationId === undefined ? undefined : rows.get(operationId);
      const now = outcomeOf(row)?.status;
      if (status === "ok" && row && now !== "ok") wrong(`a message says ok where the ledger says ${now ?? row.state}`);
      continue;
    }
    if (open.length > 0) wrong(`${open.length} calls have no tool message`);
    open = message.getType() === "ai" ? ((message as AIMessage).tool_calls ?? []).map((call) => call.id ?? "") : [];
  }
  if (open.length > 0) wrong(`${open.length} calls of the last response have no tool message`);
}
