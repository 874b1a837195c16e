// What is accepted of a server's tools: those of its first complete list, or those that the host pinned in its lock file.

import { z } from "zod";
import { Digest } from "./digest.js";
import { JsonObject, type ToolSnapshot } from "./snapshot.js";

/** One tool as it was when it was accepted. What the model was shown of it is there where it was not too long to be kept. */
export const KnownTool = z.strictObject({
  /** The server's own name for the tool. */
  name: z.string(),
  /** As in a snapshot: it covers the definition as the server sent it, without the host's secrets. */
  digest: Digest,
  title: z.string().optional(),
  description: z.string().optional(),
  inputSchema: JsonObject.optional(),
  outputSchema: JsonObject.optional(),
  annotations: JsonObject.optional(),
});
export type KnownTool = z.infer<typeof KnownTool>;

/** A server's complete list. It is kept once, under an id made from its content. */
export const FirstList = z.strictObject({ id: Digest, server: z.string(), tools: z.array(KnownTool) });
export type FirstList = z.infer<typeof FirstList>;

/** Which list was the first one of a server in a scope. It is kept under an id made from the names of both. */
export const FirstListOf = z.strictObject({
  id: Digest,
  scope: z.string(),
  server: z.string(),
  list: Digest,
  /** What shows an edit of the store by another hand. Only stores whose host has a durable secret have it. */
  seal: z.string().optional(),
});
export type FirstListOf = z.infer<typeof FirstListOf>;

/** What the store of snapshots keeps, each under its id. */
export type SnapshotBody = ToolSnapshot | FirstList | FirstListOf;

/** The lock file: what the host accepted of each server that it pinned. */
export const Lock = z.strictObject({
  version: z.literal(1),
  servers: z.record(z.string(), z.strictObject({ tools: z.array(KnownTool) })),
  /** Digest of the servers: shows that the file was edited by hand, or merged badly. */
  digest: Digest,
});
export type Lock = z.infer<typeof Lock>;

/** What is new of a tool, beside what is accepted of its server. */
export interface News {
  readonly kind: "new" | "changed";
  /** Its server is pinned; otherwise it is compared with its server's first complete list. */
  readonly pinned: boolean;
  /** What a person reads of it: one bounded line, in which hidden characters are escaped. */
  readonly text: string;
}
