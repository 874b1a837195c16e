// The tools of the deploy service; the env variables are described in deploy.ts.

import { setTimeout as delay } from "node:timers/promises";
import { openLog, readLog } from "./log.js";
import { counter, type ServedTool, type ServedTools, text } from "./sdk.js";

export function deployServer(env: Readonly<Record<string, string | undefined>>): ServedTools {
  const path = env.SERVER_LOG === "" ? undefined : env.SERVER_LOG;
  const remembered: unknown[] = [];
  const deployments = (): readonly unknown[] =>
    path === undefined
      ? remembered
      : readLog(path, "effect").map((effect) => (effect.arguments as { environment: string }).environment);

  const trigger: ServedTool = {
    definition: {
      name: "trigger",
      description: "Deploys the current build to an environment.",
      inputSchema: {
        type: "object",
        properties: { environment: { type: "string", description: "Where to deploy to, such as `staging`." } },
        required: ["environment"],
        additionalProperties: false,
      },
      annotations: { readOnlyHint: false, destructiveHint: true },
    },
    run: async (call) => {
      const { environment } = call.arguments;
      remembered.push(environment);
      call.effect();
      await delay(Number(env.DEPLOY_DELAY_MS ?? 0));
      return text(`Deployed to ${environment}.`);
    },
  };

  const status: ServedTool = {
    definition: {
      name: "status",
      description: "Tells how many deployments there have been and where the last one went.",
      inputSchema: { type: "object", properties: {}, additionalProperties: false },
      annotations: { readOnlyHint: true },
    },
    run: () => {
      const all = deployments();
      return text(all.length === 0 ? "No deployments yet." : `Deployments: ${all.length}, the last to ${all.at(-1)}.`);
    },
  };

  return { name: "deploy", tools: [trigger, status], log: openLog(env.SERVER_LOG), count: counter() };
}
