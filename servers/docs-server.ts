// The tools of the docs service; the env variables are described in docs.ts.

import type { Tool } from "@modelcontextprotocol/sdk/types.js";
import { openLog } from "./log.js";
import { counter, type ServedTools, text } from "./sdk.js";

export const docsAnswer = "Running main.py needs a permission that is granted for that one run.";

export const searchDefinition: Tool = {
  name: "search.docs",
  description: "Searches the documentation and answers with the rule that fits.",
  inputSchema: {
    type: "object",
    properties: { query: { type: "string" } },
    required: ["query"],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true },
};

export function docsServer(env: Readonly<Record<string, string | undefined>>): ServedTools {
  return {
    name: "docs",
    tools: [{ definition: searchDefinition, run: () => text(docsAnswer) }],
    log: openLog(env.SERVER_LOG),
    count: counter(),
  };
}
