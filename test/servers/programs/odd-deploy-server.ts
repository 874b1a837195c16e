// The tools of the deploy service when something is wrong with it; the env variables are described in odd-deploy.ts.

import { deployServer } from "../../../servers/deploy-server.js";
import { failure, type ServedCall, type ServedTools } from "../../../servers/sdk.js";

const modes = ["ok", "refuses", "slow", "dies"] as const;

export function oddDeployServer(env: Readonly<Record<string, string | undefined>>): ServedTools {
  const mode = modes.find((known) => known === (env.DEPLOY_MODE ?? "ok"));
  if (mode === undefined) throw new Error(`DEPLOY_MODE is \`${env.DEPLOY_MODE}\`, expected one of ${modes.join(", ")}`);
  const { DEPLOY_DELAY_MS = "1000" } = env;
  const served = deployServer({ ...env, DEPLOY_DELAY_MS: mode === "slow" ? DEPLOY_DELAY_MS : undefined });
  const tools = served.tools.map(({ definition, run }) => ({
    definition,
    run: (call: ServedCall) => {
      if (definition.name !== "trigger") return run(call);
      if (mode === "refuses") return failure(`Deployments to ${call.arguments.environment} are closed.`);
      const result = run(call); // the effect is in the log when this returns
      if (mode === "dies") process.kill(process.pid, "SIGKILL");
      return result;
    },
  }));
  return { ...served, tools };
}
