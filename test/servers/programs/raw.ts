// An MCP server that says exactly the lines it was told to say: over stdio, or over HTTP when RAW_HTTP is set. For attacks
// that are drawn anew each time, where no vocabulary of `hostile.ts` is wide enough.
//
// Env: RAW_FILE names a file with a JSON plan (`Plan`), SERVER_LOG the log of effects. In every line `"$ID"` stands for the id of
// the request, as JSON; `$ARGS` for the arguments of the call, as JSON within a string.
//
// A tool whose name begins with `look` has no effect; every other call is an effect, written before anything is answered.

import { readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { createInterface } from "node:readline";
import { openLog } from "../../../servers/log.js";
import { endWithStdin, listen } from "./listen.js";

/** When a line is said. `idle` is right after the list was given. */
export type Phase = "start" | "initialize" | "list" | "idle" | "call" | "after";

export interface Plan {
  readonly tools: readonly object[];
  /** Said before what the phase itself says; after it for `idle` and `after`. */
  readonly lines?: Partial<Readonly<Record<Phase, readonly string[]>>>;
  /** What answers a call: whole lines. Nothing: the call is never answered. @default a clean answer */
  readonly answer?: readonly string[];
  /** The process ends once the call has been answered. */
  readonly dies?: boolean;
  readonly stderr?: string;
  /** The handshake is answered with an error of these words. */
  readonly refuses?: string;
  /** Over HTTP, what the POST of a call is answered with in place of `answer`. */
  readonly http?: {
    readonly status: number;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body: string;
  };
}

const plan = JSON.parse(readFileSync(process.env.RAW_FILE ?? "", "utf8")) as Plan;
const log = openLog(process.env.SERVER_LOG);
const CLEAN = '{"jsonrpc":"2.0","id":"$ID","result":{"content":[{"type":"text","text":"fine"}]}}';

interface Request {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: { readonly name?: string; readonly arguments?: unknown; readonly protocolVersion?: string };
}

const filled = (line: string, { id, params }: Request): string =>
  line
    .replaceAll('"$ID"', JSON.stringify(id ?? null))
    .replaceAll("$ARGS", JSON.stringify(JSON.stringify(params?.arguments ?? null)).slice(1, -1));

/** The lines that one request is answered with. */
function linesOf(request: Request): readonly string[] {
  const { lines = {}, answer = [CLEAN], tools } = plan;
  const says = (member: string) => filled(`{"jsonrpc":"2.0","id":"$ID",${member}}`, request);
  const result = (value: unknown) => says(`"result":${JSON.stringify(value)}`);
  const at = (phase: Phase) => (lines[phase] ?? []).map((line) => filled(line, request));
  switch (request.method) {
    case "initialize":
      if (plan.refuses !== undefined)
        return [says(`"error":${JSON.stringify({ code: -32603, message: plan.refuses })}`)];
      return [
        ...at("initialize"),
        result({
          protocolVersion: request.params?.protocolVersion ?? "2025-11-25",
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: "raw", version: "1.0.0" },
        }),
      ];
    case "tools/list":
      return [...at("list"), result({ tools }), ...at("idle")];
    case "tools/call": {
      const { name = "", arguments: args } = request.params ?? {};
      if (!name.startsWith("look")) log({ event: "effect", tool: name, arguments: args });
      return [...at("call"), ...answer.map((line) => filled(line, request)), ...at("after")];
    }
    case "ping":
      return [result({})];
    default:
      return request.id === undefined || request.method === undefined
        ? []
        : [says('"error":{"code":-32601,"message":"no such method"}')];
  }
}

function overStdio(): void {
  process.stdout.on("error", () => {}); // a client that is gone
  const out = (lines: readonly string[]) => process.stdout.write(lines.map((line) => `${line}\n`).join(""));
  if (plan.stderr !== undefined) process.stderr.write(plan.stderr);
  out(plan.lines?.start ?? []);
  createInterface({ input: process.stdin }).on("line", (line) => {
    const request = JSON.parse(line) as Request;
    out(linesOf(request));
    if (plan.dies && request.method === "tools/call") process.stdout.write("", () => process.exit(1));
  });
}

async function overHttp(): Promise<void> {
  const server = createServer((request, response) => {
    if (request.method !== "POST") return void response.writeHead(405).end();
    const chunks: Buffer[] = [];
    request
      .on("data", (chunk: Buffer) => chunks.push(chunk))
      .on("end", () => answer(JSON.parse(Buffer.concat(chunks).toString()) as Request, response));
  });
  endWithStdin(process.env);
  console.log(JSON.stringify({ url: await listen(server) }));
}

function answer(request: Request, response: ServerResponse): void {
  const lines = linesOf(request);
  if (request.method === "tools/call" && plan.http !== undefined) {
    const { status, headers = {}, body } = plan.http;
    response.writeHead(status, { "content-type": "text/plain", ...headers }).end(filled(body, request));
  } else if (request.method === "tools/call" && plan.dies) {
    response.destroy();
  } else if (request.id === undefined || request.method === undefined) {
    response.writeHead(202).end();
  } else {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(lines.map((line) => `data: ${line}\n\n`).join(""));
  }
}

if (process.env.RAW_HTTP === undefined) overStdio();
else await overHttp();
