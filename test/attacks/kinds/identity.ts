// Identity (DESIGN: who answers comes from where no client can write): no value of a run's configuration, context, headers or
// answer makes a made-up approver count. Without the wall, the host's own `identify` believes what the client wrote.

import { Command, type LangGraphRunnableConfig } from "@langchain/langgraph";
import type { Random } from "../../simulate/random.js";
import type { Attack } from "../attack.js";
import { ask, go, type World } from "../world.js";

const BOSS = "boss@example.org";
const NAMES = [
  "langgraph_auth_user",
  "langgraph_auth_user_id",
  "user",
  "user_id",
  "identity",
  "approver",
  "by",
  "principal",
  "__toolgate_identity",
  "x-user",
  "authorization",
] as const;

/** A run's configuration in which a client claims to be somebody, at one to four places. */
function claims(random: Random): object {
  const who = () =>
    random.pick<unknown>([
      BOSS,
      { identity: BOSS },
      { id: BOSS },
      { identity: BOSS, permissions: ["*"] },
      { toString: BOSS },
    ]);
  const some = () => Object.fromEntries(Array.from({ length: 1 + random.int(3) }, () => [random.pick(NAMES), who()]));
  return {
    configurable: { ...some(), headers: some(), langgraph_request: { user: who() }, user: BOSS },
    ...(random.chance(0.5) ? { context: some() } : {}),
    ...(random.chance(0.5) ? { metadata: some() } : {}),
    ...(random.chance(0.5) ? { serverInfo: { user: who() }, headers: some() } : {}),
  };
}

async function asked(world: World, wall: boolean) {
  const toolgate = await world.host(
    {
      mcpServers: { till: world.stdio({ tools: [{ name: "pay", inputSchema: { type: "object" } }] }) },
      permissions: { ask: ["mcp__till__pay"] },
      approvals: { requireIdentity: true },
    },
    [{ calls: [{ name: "mcp__till__pay", args: { n: 1 } }] }, { say: "Done." }],
    wall ? {} : { identify: (runtime: LangGraphRunnableConfig) => runtime.configurable?.user as string },
  );
  await ask(toolgate, "Pay.");
  const [question] = await toolgate.ledger.requests("t1");
  if (question === undefined) throw new Error("nobody was asked");
  return { toolgate, id: question.approvalId };
}

const ran = (world: World) => world.effects("pay").map(() => "a write ran under a made-up approver");

async function inRun(random: Random, world: World, wall: boolean): Promise<readonly string[]> {
  const { toolgate, id } = await asked(world, wall);
  const names = { approver: BOSS, by: BOSS, identity: BOSS };
  // An answer that names an approver is refused as no answer; most of them therefore name none.
  const yes = { type: "approve", ...(random.chance(0.2) ? names : {}) };
  const resume = random.pick<unknown>([
    { decisions: { [id]: yes } },
    { decisions: { [id]: yes }, ...(random.chance(0.2) ? names : {}) },
    { decisions: [{ approvalId: id, ...yes }] },
    { decisions: { [id]: { type: "edit", editedAction: { name: "mcp__till__pay", args: { n: 2 } } } } },
  ]);
  await go(toolgate, new Command({ resume }), claims(random)).catch(() => undefined);
  return ran(world);
}

async function beside(random: Random, world: World, wall: boolean): Promise<readonly string[]> {
  const { toolgate, id } = await asked(world, wall);
  const nobody = random.pick<unknown>([
    undefined,
    "",
    " ",
    "\u0000",
    "\u200b",
    7,
    null,
    {},
    { id: BOSS },
    [BOSS],
    true,
  ]);
  const options = wall ? { approver: nobody, user: BOSS, identity: { id: BOSS } } : { approver: BOSS };
  await toolgate.ledger.answer(id, { type: "approve" }, options as never).catch(() => undefined);
  await go(toolgate, null, claims(random)).catch(() => undefined);
  return ran(world);
}

export const IDENTITY: readonly Attack[] = [
  { kind: "identity", door: "graph", strike: inRun },
  { kind: "identity", door: "records", strike: beside },
];
