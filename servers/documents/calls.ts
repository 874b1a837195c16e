// Calls: one `tools/call` is logged, checked, carried out and answered.
//
// Every call is logged as accepted before it is looked at; a call that is refused is logged as refused after that (log.ts).
// No arguments make a call throw. An error that was not foreseen is answered as `failed`, and as `result_unknown` where it
// came up in a save.

import { type CallToolResult, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { operationIdOf, type ServerLog } from "../log.js";
import { type Answer, failed, rejected, unknown } from "./answer.js";
import { operationArguments, type Parsed, readArguments, saveArguments, searchArguments } from "./arguments.js";
import { type ToolName, toolNames } from "./contracts.js";
import type { Folder } from "./folder.js";
import { codeOf } from "./io.js";
import { readDocument } from "./read.js";
import { getOperation } from "./readback.js";
import { type SaveDeps, saveReport } from "./save.js";
import { searchDocuments } from "./search.js";

export interface CallDeps extends SaveDeps {
  readonly sources: Folder;
  readonly log: ServerLog;
  /** Numbers the calls of this process. */
  readonly count: () => number;
}

export interface CallParams {
  readonly name: string;
  readonly arguments?: Record<string, unknown> | undefined;
  readonly _meta?: unknown;
}

export async function call(params: CallParams, deps: CallDeps): Promise<CallToolResult> {
  const { log } = deps;
  const tool = toolNames.find((name) => name === params.name);
  const given = params.arguments ?? {};
  const numbered = { n: deps.count(), tool: tool ?? "(unknown)" };
  const asked = { ...numbered, arguments: given, ...operationIdOf(params._meta) };
  log({ event: "accepted", ...asked });
  if (tool === undefined) {
    log({ event: "refused", ...numbered, reason: "unknown tool" });
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, "no such tool here");
  }
  const answer = await carriedOut(tool, given, deps, () => log({ event: "effect", ...asked }));
  if (answer.status === "rejected") log({ event: "refused", ...numbered, reason: answer.message });
  log({ event: "finished", ...numbered });
  return resultOf(answer);
}

async function carriedOut(
  tool: ToolName,
  given: Readonly<Record<string, unknown>>,
  deps: CallDeps,
  effect: () => void,
): Promise<Answer> {
  try {
    switch (tool) {
      case "search_documents":
        return checked(searchArguments(given), (args) => searchDocuments(args, deps.sources));
      case "read_document":
        return checked(readArguments(given), ({ filename }) => readDocument(filename, deps.sources));
      case "save_report":
        return await checked(saveArguments(given), (args) => saveReport(args, deps, effect));
      case "get_operation":
        return checked(operationArguments(given), ({ operation_id }) => getOperation(operation_id, deps));
    }
  } catch (error) {
    const what = `an error came that was not foreseen: ${codeOf(error)}`;
    return tool === "save_report" ? unknown(what) : failed(what);
  }
}

function checked<T, R>(parsed: Parsed<T>, run: (value: T) => R): R | Answer {
  return parsed.ok ? run(parsed.value) : rejected(parsed.refusal);
}

function resultOf({ status, message, data, text }: Answer): CallToolResult {
  return {
    content: [{ type: "text", text: text ?? message }],
    structuredContent: { status, message, data },
    ...(status === "ok" ? {} : { isError: true }),
  };
}
