// Drive: a client and people take a thread through its turns, whatever happens to the hosts; then everything is healed and
// the thread must come to an end.

import { HumanMessage } from "@langchain/core/messages";
import type { Cast, End } from "./cast.js";
import { violate } from "./facts.js";
import type { Shared } from "./host.js";
import { firstOf, inputOf, makeMove, type Scene, stored } from "./moves.js";
import { answer, type Next, rejectAll, settle } from "./people.js";
import type { World } from "./world.js";

/** Runs a client makes for one turn before it gives up and says something else. */
const RUNS_A_TURN = 10;
/** Runs that a healthy thread may need to come to its end. */
const RUNS_AT_THE_END = 16;
const MONTH = 31 * 24 * 3_600_000;

export async function drive(world: World, cast: Cast, shared: Shared, threads: string[]): Promise<void> {
  const { plan, history } = world;
  const counts = { runs: 0, questions: 0, unknowns: 0 };
  let answered: unknown;
  for (const [turn, { durability }] of plan.turns.entries()) {
    const message = () => ({ messages: [new HumanMessage({ content: `turn ${turn}`, id: world.newId("human") })] });
    let next: Next | undefined = { input: message() };
    history.say("client", `turn ${turn}, ${durability}`);
    for (let run = 0; next !== undefined && run < RUNS_A_TURN; run++) {
      const scene: Scene = { world, cast, shared, threadId: "t1", durability, message, answered };
      const move = plan.moves.find((one) => one.after === counts.runs);
      counts.runs += 1;
      const end: End = (move && (await makeMove(scene, move, next))) ?? (await go(scene, next));
      if (move?.kind === "copy_thread" && stored({ shared, threadId: "copy" })) await driveCopy(scene, threads);
      next = await after(scene, end, counts);
      if (end.kind === "asked" && next?.input) answered = next.input;
    }
  }
  history.say("world", "all faults are over");
  world.heal();
  while (cast.left.size > 0) await Promise.all(cast.left);
  for (const threadId of threads) if (stored({ shared, threadId })) await finish(world, cast, shared, threadId);
}

async function go(scene: Scene, next: Next): Promise<End> {
  const { cast, threadId, durability } = scene;
  const host = await cast.host();
  const input = inputOf(scene, next);
  const first = cast.invoke(host, threadId, input, { durability });
  if (!next.twice) return first;
  const other = await cast.host(host);
  return firstOf(await Promise.all([first, cast.invoke(other, threadId, input, { durability })]));
}

/** What a client does next; undefined when the turn is over. */
async function after(
  { world, cast, shared, threadId }: Scene,
  end: End,
  counts: { questions: number; unknowns: number },
): Promise<Next | undefined> {
  const { people, words } = world.plan;
  switch (end.kind) {
    case "done":
    case "broken":
      return undefined;
    case "asked":
      return answer(world, cast, threadId, end.payload, people[counts.questions++] ?? "approve");
    case "unknown":
      return settle(world, cast, shared.server, end.payload, words[counts.unknowns++] ?? "truth");
    case "gone":
      await world.sleep(world.random.int(3) * 8_000);
      return { input: null };
    case "away":
      await world.sleep(world.random.pick([100, 5_000, 16_000, 20_000]));
      return { input: null };
    case "refused":
      await world.sleep(world.random.pick([1_000, 20_000]));
      return { input: null };
  }
}

/** Goes on with a copy of the thread for a while, as if it were the thread. */
async function driveCopy(scene: Scene, threads: string[]): Promise<void> {
  threads.push("copy");
  const copy = { ...scene, threadId: "copy" };
  let next: Next | undefined = { input: null };
  const counts = { questions: 1_000, unknowns: 1_000 };
  for (let run = 0; next !== undefined && run < 3; run++) next = await after(copy, await go(copy, next), counts);
}

/** Nothing strikes any more: the thread must answer every call and say that it is done. */
async function finish(world: World, cast: Cast, shared: Shared, threadId: string): Promise<void> {
  const message = () => ({ messages: [new HumanMessage({ content: "that is all", id: world.newId("human") })] });
  const scene: Scene = { world, cast, shared, threadId, durability: "sync", message, answered: undefined };
  let next: Next = { input: message() };
  for (let run = 0; run < RUNS_AT_THE_END; run++) {
    const end = await go(scene, next);
    switch (end.kind) {
      case "done":
        return;
      case "asked":
        next = rejectAll(end.payload);
        break;
      case "unknown":
        next = await settle(world, cast, shared.server, end.payload, "leave");
        break;
      default:
        await world.sleep(world.facts.clocksOff ? MONTH : 20_000);
        next = { input: null };
    }
  }
  violate(world.facts, "wedged", `${threadId} does not come to an end`);
}
