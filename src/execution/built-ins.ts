// Built-ins: the two tools of the host itself. Reads, free of budget, allowed unless denied by name.

import type { LocalTool } from "../catalog/index.js";
import { type Config, type Limits, LOCAL, type Operation } from "../contracts/index.js";

export const CONNECT_SERVER = "connect_server";
export const READ_RESULT = "read_result";
export const BUILT_INS = [CONNECT_SERVER, READ_RESULT] as const;

/** Bytes of one page of `read_result`. */
export const PAGE_BYTES = 16_000;

export function isBuiltIn(operation: Pick<Operation, "server" | "tool">): boolean {
  return operation.server === LOCAL && (BUILT_INS as readonly string[]).includes(operation.tool ?? "");
}

/** Names of the servers that wait to be connected. */
export function onDemand(config: Config): string[] {
  return Object.keys(config.mcpServers).filter((name) => config.mcpServers[name]?.connect === "on-demand");
}

/** Whether the host's limits let a result be longer than what the model is shown at once. */
function resultsCanBeLong({ hardResultBytes, resultBytes, resultChars }: Limits): boolean {
  const most = Math.min(hardResultBytes, resultChars === undefined ? hardResultBytes : 4 * resultChars); // UTF-8: 4 bytes at most
  return most > resultBytes;
}

/** The built-ins that make sense under this configuration. */
export function builtInTools(config: Config): LocalTool[] {
  const names = onDemand(config);
  const connect: LocalTool = {
    name: CONNECT_SERVER,
    description:
      "Connects one of the host's tool servers. Its tools can be used from the next message on, not in this one.",
    inputSchema: {
      type: "object",
      properties: { name: { type: "string", enum: names, description: "The server to connect." } },
      required: ["name"],
      additionalProperties: false,
    },
  };
  const read: LocalTool = {
    name: READ_RESULT,
    description: "Reads on in a long result that was shown only in part, from the reference given with it.",
    inputSchema: {
      type: "object",
      properties: {
        ref: { type: "string", description: "The reference given with the shortened result." },
        offset: {
          type: "integer",
          minimum: 0,
          description: "Where to begin, in bytes. The page before says where it ended.",
        },
      },
      required: ["ref"],
      additionalProperties: false,
    },
  };
  return [...(names.length > 0 ? [connect] : []), ...(resultsCanBeLong(config.limits) ? [read] : [])];
}
