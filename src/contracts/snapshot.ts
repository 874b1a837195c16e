// What a model is shown: tools, where each one lives, and what was left out.

import { z } from "zod";
import { Digest } from "./digest.js";

/** Any JSON object. Loose at MCP's edge: a stricter schema than the specification's refuses valid servers. */
export const JsonObject = z.record(z.string(), z.unknown());
export type JsonObject = z.infer<typeof JsonObject>;

/** The server name under which built-ins and the host's own tools live. */
export const LOCAL = "local";

/** One tool as the model is shown it, with the route home. */
export const ToolEntry = z.strictObject({
  /** What the model sees; never parsed back into its parts. */
  alias: z.string(),
  /** A key of `mcpServers`, or `local`. */
  server: z.string(),
  /** The server's own name for the tool: what goes on the wire. */
  tool: z.string(),
  title: z.string().optional(),
  description: z.string(),
  /** Model-facing: parameters the host injects are removed. */
  inputSchema: JsonObject,
  outputSchema: JsonObject.optional(),
  annotations: JsonObject.optional(),
  /** Covers name, title, description, inputSchema, outputSchema and annotations as the server sent them. */
  digest: Digest,
});
export type ToolEntry = z.infer<typeof ToolEntry>;

export const ServerStatus = z.enum(["connected", "stale", "failed", "not_connected"]);
export type ServerStatus = z.infer<typeof ServerStatus>;

/** A server as a snapshot knows it. Status and problem are for people and are not part of the snapshot's id. */
export const SnapshotServer = z.strictObject({
  name: z.string(),
  status: ServerStatus,
  /** The negotiated MCP protocol version, once connected. */
  protocol: z.string().optional(),
  toolCount: z.number().int().nonnegative(),
  problem: z.string().optional(),
});
export type SnapshotServer = z.infer<typeof SnapshotServer>;

/** A tool a server offers that is not shown to the model, and why. */
export const WithheldTool = z.strictObject({ server: z.string(), tool: z.string(), reason: z.string() });
export type WithheldTool = z.infer<typeof WithheldTool>;

/** Everything one model request may use. Immutable; `id` digests tools, withheld tools and server names. */
export const ToolSnapshot = z.strictObject({
  id: Digest,
  servers: z.array(SnapshotServer),
  tools: z.array(ToolEntry),
  withheld: z.array(WithheldTool),
});
export type ToolSnapshot = z.infer<typeof ToolSnapshot>;

/** What the graph's state says of a snapshot: at most 4 KB, whatever the size of the catalog. */
export const SnapshotSummary = z.strictObject({
  id: Digest,
  servers: z.array(SnapshotServer.pick({ name: true, status: true, toolCount: true })),
  tools: z.array(z.strictObject({ alias: z.string(), effect: z.enum(["read", "write"]) })),
  toolCount: z.number().int().nonnegative(),
  withheld: z.array(z.string()),
});
export type SnapshotSummary = z.infer<typeof SnapshotSummary>;
