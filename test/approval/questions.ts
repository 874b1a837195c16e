// Questions for the tests of this room.

import type { Question } from "../../src/approval/index.js";
import { aliasOf, digest, type JsonObject } from "../../src/contracts/index.js";

export const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);

/** A question about `save_report`, put a minute before `NOW`. */
export function question(id: string, args: JsonObject, change: Partial<Question> = {}): Question {
  const argumentsDigest = digest(args);
  const operationId = digest([id, argumentsDigest]);
  const toolDigest = digest("save_report");
  return {
    request: {
      approvalId: id,
      operationId,
      threadId: "thread",
      scope: "local",
      argumentsDigest,
      toolDigest,
      why: "no rule matches this call",
      seen: [],
      createdAt: NOW - 60_000,
      expiresAt: NOW + 3_600_000,
    },
    operation: {
      id: operationId,
      proposalId: "proposal",
      index: 0,
      callId: `call-${id}`,
      alias: aliasOf("documents", "save_report"),
      server: "documents",
      tool: "save_report",
      arguments: args,
      argumentsDigest,
      effect: "write",
      decision: { kind: "ask", rules: [], reason: "no rule matches this call" },
    },
    tool: {
      alias: aliasOf("documents", "save_report"),
      server: "documents",
      tool: "save_report",
      title: "Save a report",
      description: "Creates a new file.\nNever overwrites.",
      inputSchema: { type: "object", properties: { filename: { type: "string" } } },
      digest: toolDigest,
    },
    earlier: [],
    ...change,
  };
}
