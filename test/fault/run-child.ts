// A process of its own that runs a whole agent with a scripted model, to be killed at a named point. Nothing in the
// sources knows of these points: they are made at the ports that a host may replace.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type BaseCheckpointSaver, Command, MemorySaver } from "@langchain/langgraph";
import { ScriptedModel } from "../../src/adapters/model/scripted.js";
import { steadyMs } from "../../src/adapters/process/clock.js";
import { createOwner } from "../../src/adapters/process/owner.js";
import { openCheckpointer } from "../../src/adapters/sqlite/checkpointer.js";
import { createSqliteLedger } from "../../src/adapters/sqlite/ledger.js";
import { createToolgate } from "../../src/index.js";
import type { Ledger } from "../../src/ledger/port.js";
import type { Plan, Point, Said } from "./run-plan.js";

const plan = JSON.parse(process.argv[2] ?? "") as Plan;
const file = join(plan.config.store.path, "toolgate.sqlite");
const say = (said: Said) => process.stdout.write(`${JSON.stringify(said)}\n`);
process.stdin.on("end", () => process.exit(1)).resume(); // whoever started it is gone

/** Says so and stops for ever. */
async function reached(): Promise<void> {
  say({ at: "reached" });
  await new Promise(() => {});
}

/** The ledger as it is, stopping at a point. */
function stopping(ledger: Ledger, stop: Point | undefined): Ledger {
  let calls = 0;
  return new Proxy(ledger, {
    get(target, name, receiver) {
      const method = Reflect.get(target, name, receiver) as (...args: unknown[]) => Promise<unknown>;
      if (stop === undefined || "model" in stop) return method;
      if (name !== ("before" in stop ? stop.before : stop.after)) return method;
      return async (...args: unknown[]) => {
        calls += 1;
        const here = calls === (stop.nth ?? 1);
        if (here && "before" in stop) await reached();
        const result = await method.apply(target, args);
        if (here && "after" in stop) await reached();
        return result;
      };
    },
  });
}

/** The scripted model, stopping at its n-th request. */
class StoppingModel extends ScriptedModel {
  override async _generate(...args: Parameters<ScriptedModel["_generate"]>) {
    const result = await super._generate(...args);
    if (plan.stop && "model" in plan.stop && this.requests.length === plan.stop.model) await reached();
    return result;
  }
}

function checkpointer(): BaseCheckpointSaver {
  if (plan.forgetful) return new MemorySaver();
  const saver = openCheckpointer(file);
  const { holdFromStep } = plan;
  if (holdFromStep === undefined) return saver;
  const [put, isStored] = [saver.put.bind(saver), saver.isStored.bind(saver)];
  const held = new Set<string>();
  saver.put = async (config, checkpoint, metadata) => {
    if (metadata.step < holdFromStep) return put(config, checkpoint, metadata);
    held.add(checkpoint.id);
    return new Promise(() => {});
  };
  saver.isStored = async (at) => {
    if (held.has(at.configurable.checkpoint_id)) say({ at: "waiting" });
    return isStored(at);
  };
  return saver;
}

async function main(): Promise<void> {
  const { config, steps, threadId, runs, durability } = plan;
  mkdirSync(config.store.path, { recursive: true });
  const toolgate = await createToolgate({
    config,
    model: new StoppingModel(steps as ConstructorParameters<typeof ScriptedModel>[0]),
    checkpointer: checkpointer(),
    ledger: stopping(
      createSqliteLedger(file, { now: Date.now, steady: steadyMs, liveness: createOwner().liveness }),
      plan.stop,
    ),
  });
  for (const run of runs) {
    const input =
      run === null ? null : typeof run === "string" ? { messages: [{ role: "user", content: run }] } : await yes();
    await toolgate.graph.invoke(input as never, { configurable: { thread_id: threadId }, durability } as never);
  }
  await toolgate.close();
  say({ at: "done" });
  process.exit(0);

  async function yes(): Promise<Command> {
    const open = await toolgate.ledger.requests(threadId);
    const decisions = Object.fromEntries(open.map((one) => [one.approvalId, { type: "approve" }]));
    return new Command({ resume: { decisions } });
  }
}

main().catch((error: Error) => {
  say({ error: error.stack ?? String(error) });
  process.exit(1);
});
