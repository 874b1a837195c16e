// Contracts: what clients of the document workspace are told: the bounds, and the tools as they are listed.
//
//   documents-contracts-1. What arguments.ts checks and what these schemas say is made from the same bounds.
//   documents-contracts-2. The list is plain: no `$ref`, no combinators, few levels, so that a host with tight bounds
//                          takes it.

import type { Tool } from "@modelcontextprotocol/server";

export const BOUNDS = {
  query: 80,
  results: 3,
  /** Directory entries that a search looks at. */
  entries: 64,
  before: 40,
  after: 160,
  documentBytes: 24_000,
  contentChars: 8_000,
  contentBytes: 24_000,
  grantChars: 2_048,
  /** How long a grant may live, and how old it may be. */
  grantSeconds: 60,
  secretChars: 32,
} as const;

// `$` matches only at the end here: without the flag `m` JavaScript does not stop before a last newline.
export const FILENAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}\.md$/;
export const OPERATION_ID = /^[0-9a-f]{64}$/;

export const statuses = ["ok", "rejected", "failed", "result_unknown"] as const;
export type Status = (typeof statuses)[number];

export const toolNames = ["search_documents", "read_document", "save_report", "get_operation"] as const;
export type ToolName = (typeof toolNames)[number];

const filename = { type: "string", pattern: FILENAME.source } as const;
const operationId = { type: "string", pattern: OPERATION_ID.source } as const;
const count = { type: "integer", minimum: 0 } as const;
const text = { type: "string" } as const;

/** Data is null or has some of these fields; those of a refusal are among them. */
function output(fields: Readonly<Record<string, object>>): NonNullable<Tool["outputSchema"]> {
  return {
    type: "object",
    properties: {
      status: { type: "string", enum: [...statuses] },
      message: text,
      data: {
        type: ["object", "null"],
        properties: { ...fields, field: text, rule: text },
        additionalProperties: false,
      },
    },
    required: ["status", "message", "data"],
    additionalProperties: false,
  };
}

function input(properties: Record<string, object>, required: string[]): Tool["inputSchema"] {
  return { type: "object", properties: properties as never, required, additionalProperties: false };
}

export const definitions: Readonly<Record<ToolName, Tool>> = {
  search_documents: {
    name: "search_documents",
    title: "Search documents",
    description:
      `Finds the documents that contain a text, exactly as it is written (upper and lower case differ). ` +
      `A hit is a document's first match: its file name, its line and an excerpt from ${BOUNDS.before} characters before ` +
      `the match to ${BOUNDS.after} from its start. At most the first ${BOUNDS.entries} entries of the folder by name are ` +
      `looked at: \`examined\` were read, \`skipped\` are no readable documents. \`truncated\` is true when a bound ` +
      `stopped the search before the last entry. Reports are not searched.`,
    inputSchema: input(
      {
        query: { type: "string", minLength: 1, maxLength: BOUNDS.query, description: "The text to find." },
        max_results: {
          type: "integer",
          minimum: 1,
          maximum: BOUNDS.results,
          default: BOUNDS.results,
          description: "The most hits to answer with.",
        },
      },
      ["query"],
    ),
    outputSchema: output({
      hits: {
        type: "array",
        items: {
          type: "object",
          properties: { filename: text, line: count, excerpt: text },
          required: ["filename", "line", "excerpt"],
          additionalProperties: false,
        },
      },
      examined: count,
      skipped: count,
      truncated: { type: "boolean" },
    }),
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  read_document: {
    name: "read_document",
    title: "Read a document",
    description: `Reads one document: a regular file of at most ${BOUNDS.documentBytes} bytes in valid UTF-8. Reports cannot be read.`,
    inputSchema: input(
      { filename: { ...filename, description: "A name as the search gives it, such as `notes.md`." } },
      ["filename"],
    ),
    outputSchema: output({ filename: text, bytes: count, sha256: text }),
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  save_report: {
    name: "save_report",
    title: "Save a report",
    description:
      `Saves a new report. A name that is taken is refused, nothing is ever overwritten. ` +
      `It needs a grant for exactly this name and content, which only the host can give.`,
    inputSchema: input(
      {
        filename: { ...filename, description: "The name of the new report, such as `summary.md`." },
        content: {
          type: "string",
          minLength: 1,
          maxLength: BOUNDS.contentChars,
          description: `The whole report, at most ${BOUNDS.contentBytes} bytes in UTF-8.`,
        },
        approval_token: {
          type: "string",
          minLength: 1,
          maxLength: BOUNDS.grantChars,
          description: "The host's grant.",
        },
        operation_id: { ...operationId, description: "The id of the operation that the grant is for." },
      },
      ["filename", "content", "approval_token"],
    ),
    outputSchema: output({ filename: text, bytes: count, sha256: text, operation_id: text }),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  },
  get_operation: {
    name: "get_operation",
    title: "Tell what became of a save",
    description:
      `Tells whether the save with an operation id was carried out: \`carried_out\` true, false, or null when that cannot ` +
      `be told, and \`final\` when the answer stays as it is. An id that was never used is closed by asking: a save ` +
      `that arrives with it later is refused.`,
    inputSchema: input({ operation_id: { ...operationId, description: "The operation id of the save." } }, [
      "operation_id",
    ]),
    outputSchema: output({
      operation_id: text,
      carried_out: { type: ["boolean", "null"] },
      final: { type: "boolean" },
      filename: text,
      bytes: count,
      sha256: text,
      detail: text,
    }),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  },
};
