// Scope (G14): whoever runs in one scope sees nothing of another one and changes nothing there, whatever ids they know. Without
// the wall, the attacker is in the other scope.

import { AsyncLocalStorage } from "node:async_hooks";
import { Command } from "@langchain/langgraph";
import type { Toolgate } from "../../../src/index.js";
import type { Random } from "../../simulate/random.js";
import type { Attack } from "../attack.js";
import { ask, go, type World } from "../world.js";

const SECRET = "for the eyes of mary only";
const caller = new AsyncLocalStorage<string>();
const as = <T>(name: string, run: () => Promise<T>): Promise<T> => caller.run(name, run);

/** Mary has one thread with a finished read, one open question and one unknown write. Her ids are known to everybody. */
async function marysThread(world: World) {
  const tools = ["pay", "lose", "look"].map((name) => ({ name, inputSchema: { type: "object" } }));
  const lost = { tools, answer: ['{"jsonrpc":"2.0","id":"$ID","error":{"code":-32603,"message":"lost"}}'] };
  const toolgate = await world.host(
    {
      mcpServers: { till: world.stdio({ tools }), loser: world.stdio(lost) },
      permissions: { ask: ["mcp__till__pay"], allow: ["mcp__till__look", "mcp__loser__lose"] },
      tools: { mcp__till__look: { effect: "read" } },
    },
    [
      {
        calls: [
          { name: "mcp__till__look", args: { text: SECRET } },
          { name: "mcp__till__pay", args: { text: SECRET } },
        ],
      },
      { say: "Done." },
    ],
    { identify: () => ({ id: caller.getStore() ?? "nobody", scope: caller.getStore() ?? "nobody" }) },
  );
  await as("mary", () => ask(toolgate, SECRET, {}, "flat"));
  const [question] = await toolgate.ledger.requests("flat", { scope: "mary" });
  const [operation] = await toolgate.ledger.operations("flat", { scope: "mary" });
  const state = await as("mary", () => toolgate.graph.getState({ configurable: { thread_id: "flat" } }));
  if (question === undefined || operation === undefined) throw new Error("mary's thread is not as it should be");
  return { toolgate, question, operation, checkpoint: state.config.configurable?.checkpoint_id as string };
}

/** Ways to name mary's thread. */
const names = (random: Random) =>
  random.pick(["flat", "mary\u001fflat", "mary/flat", "mary:flat", "../mary/flat", "\u001fflat"]);

async function all(stream: AsyncIterable<unknown>): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const one of stream) found.push(one);
  return found;
}

type Door = (toolgate: Toolgate) => Promise<unknown>;

function graphDoors(random: Random, ids: { approval: string; operation: string; checkpoint: string }): readonly Door[] {
  const configurable = {
    thread_id: names(random),
    ...(random.chance(0.5) ? { checkpoint_id: ids.checkpoint } : {}),
    ...(random.chance(0.5)
      ? { scope: "mary", __toolgate_scope: "mary", langgraph_auth_user: { identity: "mary", scope: "mary" } }
      : {}),
    ...(random.chance(0.3) ? { checkpoint_ns: "" } : {}),
  };
  const config = { configurable, durability: "sync" as const };
  const yes = { decisions: { [ids.approval]: { type: "approve" } } };
  const happened = { resolutions: { [ids.operation]: { type: "happened" } } };
  return [
    ({ graph }) => graph.getState({ configurable }),
    ({ graph }) => all(graph.getStateHistory({ configurable })),
    ({ graph }) => graph.updateState({ configurable }, { note: "from outside" }, "observe"),
    (toolgate) => go(toolgate, new Command({ resume: random.pick([yes, happened, true]) }), { configurable }),
    (toolgate) => go(toolgate, null, { configurable }),
    async ({ graph }) =>
      all((await graph.stream(null as never, { ...config, streamMode: "values" } as never)) as never),
  ];
}

function recordDoors(random: Random, ids: { approval: string; operation: string }, scope: string): readonly Door[] {
  const threadId = names(random);
  const type = random.pick(["happened", "did_not_happen"] as const);
  return [
    ({ ledger }) => ledger.requests(random.chance(0.5) ? threadId : undefined, { scope }),
    ({ ledger }) => ledger.operations(threadId, { scope }),
    ({ ledger }) => ledger.unknowns(random.chance(0.5) ? threadId : undefined, { scope }),
    ({ ledger }) => ledger.threads({ scope }),
    ({ ledger }) =>
      ledger.answer(ids.approval, { type: random.pick(["approve", "reject"]) } as never, { approver: "john", scope }),
    ({ ledger }) => ledger.resolve(ids.operation, type, { by: "john", scope } as never),
    (toolgate) => toolgate.snapshot(threadId, { scope }),
    (toolgate) => toolgate.forget(threadId, { scope }),
  ];
}

async function strike(
  random: Random,
  world: World,
  wall: boolean,
  door: "graph" | "records",
): Promise<readonly string[]> {
  const { toolgate, question, operation, checkpoint } = await marysThread(world);
  const ids = { approval: question.approvalId, operation: operation.operationId, checkpoint };
  const name = wall ? "john" : "mary";
  const doors = door === "graph" ? graphDoors(random, ids) : recordDoors(random, ids, name);
  const seen: unknown[] = [];
  const before = JSON.stringify(await toolgate.ledger.operations("flat", { scope: "mary" }));
  for (const open of doors) {
    // The text that john sends himself is not mary's.
    seen.push(
      await as(name, () => open(toolgate)).catch((error: Error) => `${error.message} ${JSON.stringify(error)}`),
    );
  }
  await as("mary", () => ask(toolgate, "And?", {}, "flat")).catch(() => undefined);
  const after = JSON.stringify(
    (await toolgate.ledger.operations("flat", { scope: "mary" })).filter(({ operationId }) =>
      before.includes(operationId),
    ),
  );
  return [
    ...(JSON.stringify(seen).includes(SECRET) ? ["mary's words were seen"] : []),
    ...world.effects("pay").map(() => "mary's write ran"),
    ...(after.includes('"reason":"person"') ? ["mary's question was answered"] : []),
  ];
}

export const SCOPE: readonly Attack[] = (["graph", "records"] as const).map((door) => ({
  kind: "scope",
  door,
  strike: (random, world, wall) => strike(random, world, wall, door),
}));
