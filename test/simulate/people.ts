// People: what is answered to the questions of a run, and what of it goes on record.

import { Command } from "@langchain/langgraph";
import type { ActionRequest } from "../../src/approval/index.js";
import type { Cast } from "./cast.js";
import { type Approval, canonical } from "./facts.js";
import type { Running } from "./host.js";
import type { PersonPlan, WordPlan } from "./plan.js";
import type { Server } from "./server.js";
import type { World } from "./world.js";

/** How a client goes on with a thread. */
export interface Next {
  readonly input: unknown;
  /** Sent by two clients at once. */
  readonly twice?: boolean;
}

const DAY = 24 * 3_600_000;

export async function answer(
  world: World,
  cast: Cast,
  threadId: string,
  payload: Record<string, unknown>,
  how: PersonPlan,
): Promise<Next> {
  const actions = payload["actionRequests"] as ActionRequest[];
  const first = actions[0] as ActionRequest;
  world.history.say("person", `is asked about ${actions.map((one) => show(world, one)).join(", ")}: ${how}`);
  const yes = (action: ActionRequest): [string, object] => {
    approve(world, threadId, action, { inOrder: how === "approve_in_order" });
    return [action.approvalId, { type: "approve" }];
  };
  const all = () => Object.fromEntries(actions.map(yes));
  const resume = (decisions: unknown): Next => ({ input: new Command({ resume: { decisions } }) });
  switch (how) {
    case "approve":
      return resume(all());
    case "approve_twice":
      return { ...resume(all()), twice: true };
    case "approve_late":
      await world.sleep(30 * 60_000);
      return resume(all());
    case "week_later":
      await world.sleep(8 * DAY);
      return resume(all());
    case "approve_in_order":
      await world.sleep(2_000);
      return resume(Object.values(all()));
    case "approve_some":
      return resume(Object.fromEntries([yes(first)]));
    case "approve_outside":
    case "approve_then_wait": {
      const host = await cast.host();
      for (const action of actions) await outside(world, cast, host, threadId, action);
      if (how === "approve_then_wait") await world.sleep(70_000);
      return { input: null };
    }
    case "reject":
      return resume({
        ...Object.fromEntries(actions.slice(1).map(yes)),
        [first.approvalId]: { type: "reject", message: "no" },
      });
    case "edit": {
      const args = { n: 1_000 + Number(first.args["n"]) };
      approve(world, threadId, first, { args, edited: true });
      const edit = { type: "edit", editedAction: { name: first.name, args } };
      return resume({ ...Object.fromEntries(actions.slice(1).map(yes)), [first.approvalId]: edit });
    }
    case "nonsense":
      return resume("yes, all of it");
  }
}

/** Rejects everything: the end of a run wants no new effects. */
export function rejectAll(payload: Record<string, unknown>): Next {
  const actions = payload["actionRequests"] as ActionRequest[];
  const decisions = Object.fromEntries(actions.map(({ approvalId }) => [approvalId, { type: "reject" }]));
  return { input: new Command({ resume: { decisions } }) };
}

export async function settle(
  world: World,
  cast: Cast,
  server: Server,
  payload: Record<string, unknown>,
  how: WordPlan,
): Promise<Next> {
  const ids = (payload["unknowns"] as { operationId: string }[]).map(({ operationId }) => operationId);
  world.history.say(
    "person",
    `is told that ${ids.map((id) => world.history.name("op", id)).join(", ")} is unknown: ${how}`,
  );
  if (how === "nonsense") return { input: new Command({ resume: { resolutions: "it is fine" } }) };
  const typeOf = (operationId: string) =>
    how === "truth" || how === "outside" ? (server.happened(operationId) ? "happened" : "did_not_happen") : how;
  for (const operationId of ids) world.facts.words.push({ operationId, type: typeOf(operationId) });
  if (how === "outside") {
    const host = await cast.host();
    for (const id of ids) await cast.within(host, host.records.resolve(id, typeOf(id) as "happened"));
    return { input: null };
  }
  const resolutions = Object.fromEntries(ids.map((id) => [id, { type: typeOf(id) }]));
  return { input: new Command({ resume: { resolutions } }) };
}

function approve({ facts }: World, threadId: string, action: ActionRequest, more: Partial<Approval> = {}): void {
  const { name: alias, operationId, args } = action;
  facts.approvals.push({ threadId, alias, operationId, args, edited: false, inOrder: false, ...more });
}

async function outside(
  world: World,
  cast: Cast,
  host: Running,
  threadId: string,
  action: ActionRequest,
): Promise<void> {
  approve(world, threadId, action);
  await cast.within(host, host.records.answer(action.approvalId, { type: "approve" }));
}

function show({ history }: World, { operationId, name, args }: ActionRequest): string {
  return `${history.name("op", operationId)} (${name} ${canonical(args)})`;
}
