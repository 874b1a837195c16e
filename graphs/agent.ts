// The agent for LangGraph Studio and `langgraphjs dev`: the configuration beside package.json, or the file that
// TOOLGATE_CONFIG names. Loading and drawing the graph starts no server; the first run does. Answers are sealed with the
// secret that the command keeps beside the store, so a question asked here can be answered with the command.

import { fileURLToPath } from "node:url";
import { withKeptSecret } from "../src/cli/secret.js";
import { createToolgate, loadConfig } from "../src/index.js";

const path = process.env.TOOLGATE_CONFIG ?? fileURLToPath(new URL("../toolgate.json", import.meta.url));

export const toolgate = await createToolgate({ config: withKeptSecret(await loadConfig(path)) });
export const graph = toolgate.graph;
