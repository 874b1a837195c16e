// What the well-behaved servers share: the SDK's low-level server with tools and schemas exactly as written, and a log.
//
//   sample-1. Every tools/call is logged as accepted before it is judged, refused ones as refused after that (log.ts).
//   sample-2. Arguments are checked against the listed schema; a call that breaks it is an isError result and never
//             acts.
//   sample-3. When stdin ends, what is running is finished; then the process ends by itself.

import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  type ListToolsResult,
  McpError,
  type Tool,
} from "@modelcontextprotocol/sdk/types.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import { operationIdOf, type ServerLog } from "./log.js";

export interface ServedCall {
  readonly arguments: Record<string, unknown>;
  /** Logs that the world was changed by this call. Call it once the change is made, before answering. */
  readonly effect: () => void;
}

export interface ServedTool {
  readonly definition: Tool;
  /** **Contract:** may throw; the message becomes an isError result. */
  readonly run: (call: ServedCall) => CallToolResult | Promise<CallToolResult>;
}

export interface ServedTools {
  readonly name: string;
  readonly instructions?: string;
  readonly tools: readonly ServedTool[];
  /** One page of the list. @default all tools on one page */
  readonly page?: (cursor: string | undefined) => ListToolsResult;
  readonly log: ServerLog;
  /** Numbers the calls of this process. Shared by the sessions of an HTTP server. */
  readonly count: () => number;
}

export const text = (words: string): CallToolResult => ({ content: [{ type: "text", text: words }] });
export const failure = (words: string): CallToolResult => ({ ...text(words), isError: true });

/** A counter from 1. */
export function counter(): () => number {
  let n = 0;
  return () => ++n;
}

/** An SDK server, one per connection. */
export function sdkServer(served: ServedTools): Server {
  const { log } = served;
  const server = new Server(
    { name: served.name, version: "1.0.0" },
    {
      capabilities: { tools: {} },
      ...(served.instructions === undefined ? {} : { instructions: served.instructions }),
    },
  );
  const ajv = new Ajv2020({ strict: false, allErrors: true });

  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    log({ event: "listed", cursor: params?.cursor ?? null });
    return served.page?.(params?.cursor) ?? { tools: served.tools.map(({ definition }) => definition) };
  });

  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const call = { n: served.count(), tool: params.name };
    const asked = { ...call, arguments: params.arguments, ...operationIdOf(params._meta) };
    log({ event: "accepted", ...asked }); // sample-1
    const tool = served.tools.find(({ definition }) => definition.name === params.name);
    if (tool === undefined) {
      log({ event: "refused", ...call, reason: "unknown tool" });
      throw new McpError(ErrorCode.InvalidParams, `no tool \`${params.name}\` here`);
    }
    const given = params.arguments ?? {};
    if (!ajv.validate(tool.definition.inputSchema, given)) {
      const reason = ajv.errorsText(ajv.errors, { dataVar: "arguments" });
      log({ event: "refused", ...call, reason });
      return failure(reason); // sample-2
    }
    let finished = false;
    const cancelled = (): void => {
      if (!finished) log({ event: "cancelled", ...call, reason: String(signal.reason ?? "") });
    };
    if (signal.aborted) cancelled();
    else signal.addEventListener("abort", cancelled);
    const result = await run(tool, { arguments: given, effect: () => log({ event: "effect", ...asked }) });
    log({ event: "finished", ...call });
    finished = true;
    return result;
  });
  return server;
}

async function run(tool: ServedTool, call: ServedCall): Promise<CallToolResult> {
  try {
    return await tool.run(call);
  } catch (error) {
    return failure(error instanceof Error ? error.message : String(error));
  }
}

/** Serves over stdin and stdout. */
export async function serveStdio(served: ServedTools): Promise<void> {
  process.stdout.on("error", () => {}); // a client that is gone; sample-3 ends us
  served.log({ event: "started", pid: process.pid });
  await sdkServer(served).connect(new StdioServerTransport());
}
