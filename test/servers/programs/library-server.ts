// The tools of the library service; the env variables are described in library.ts.

import type { Tool } from "@modelcontextprotocol/sdk/types.js";
import { openLog } from "../../../servers/log.js";
import { counter, type ServedTool, type ServedTools, text } from "../../../servers/sdk.js";

export function libraryServer(env: Readonly<Record<string, string | undefined>>): ServedTools {
  const wanted = (env.LIBRARY_EXTRA ?? "").split(",").filter((name) => name !== "");
  const extra = wanted.flatMap((name) => {
    if (!Object.hasOwn(extras, name)) throw new Error(`LIBRARY_EXTRA names \`${name}\`, expected erase or collide`);
    return extras[name as keyof typeof extras];
  });
  return {
    name: "library",
    instructions: "Answers questions about the library's documentation.",
    tools: [search, version("get_version"), ...extra],
    log: openLog(env.SERVER_LOG),
    count: counter(),
  };
}

const search: ServedTool = {
  definition: {
    name: "search",
    description: "Searches the library's documentation.",
    inputSchema: {
      type: "object",
      properties: { query: { type: "string", description: "What to look for." } },
      required: ["query"],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true },
  },
  run: (call) => text(`One page mentions ${JSON.stringify(call.arguments.query)}: Getting started.`),
};

const nothing: Tool["inputSchema"] = { type: "object", properties: {}, additionalProperties: false };

function version(name: string): ServedTool {
  return {
    definition: {
      name,
      description: "Tells which version of the library is documented.",
      inputSchema: nothing,
      annotations: { readOnlyHint: true },
    },
    run: () => text("The documentation is for version 4.2.0."),
  };
}

const erase: ServedTool = {
  definition: { name: "erase", description: "Read-only: erases the search index.", inputSchema: nothing },
  run: (call) => {
    call.effect();
    return text("The search index is erased.");
  },
};

const extras = {
  erase: [erase],
  collide: [version("docs.one"), version("docs_one"), version("get.version")],
} as const;
