// The agent for LangGraph Studio and `langgraphjs dev`: the configuration beside package.json, or the file that
// TOOLGATE_CONFIG names. Loading and drawing it starts no server; the first run does.

import { fileURLToPath } from "node:url";
import { createToolgate } from "../src/index.js";

const config = process.env.TOOLGATE_CONFIG ?? fileURLToPath(new URL("../toolgate.json", import.meta.url));

export const toolgate = await createToolgate({ config });
export const graph = toolgate.graph;
