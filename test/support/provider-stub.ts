// A provider on this machine: OpenAI's `/v1/chat/completions`, with scripted answers. It keeps every request's body.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One answer: a failure with a status, or a message. Arguments may be raw text, as a provider could send it. */
export type ProviderAnswer =
  | { readonly status: number; readonly message?: string }
  | {
      readonly say?: string;
      readonly calls?: readonly { readonly id: string; readonly name: string; readonly args: object | string }[];
    };

/** A request's body, as far as tests look at it. */
export interface ProviderRequest {
  readonly model: string;
  readonly stream?: boolean;
  readonly messages: readonly Record<string, unknown>[];
  readonly tools?: readonly { readonly type: string; readonly function: Record<string, unknown> }[];
}

export interface ProviderStub {
  /** What a client takes as `baseURL`. */
  readonly baseURL: string;
  /** Bodies of all requests, failed ones included, oldest first. */
  readonly requests: readonly ProviderRequest[];
  close(): Promise<void>;
}

/** Starts the stub on a free port. Each HTTP request takes the next answer; past the end it says `(no more answers)`. */
export async function startProviderStub(answers: readonly ProviderAnswer[]): Promise<ProviderStub> {
  const requests: ProviderRequest[] = [];
  const server = createServer((request, response) => {
    void readBody(request).then((text) => {
      if (request.method !== "POST" || request.url !== "/v1/chat/completions") return fail(response, 404, "not found");
      const body = JSON.parse(text) as ProviderRequest;
      const answer = answers[requests.push(body) - 1] ?? { say: "(no more answers)" };
      if ("status" in answer) return fail(response, answer.status, answer.message ?? "overloaded");
      if (body.stream) return sendStream(response, answer, requests.length);
      return sendWhole(response, answer, requests.length);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type Said = Exclude<ProviderAnswer, { status: number }>;

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function fail(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ error: { message, type: "stub" } }));
}

function sendWhole(response: ServerResponse, said: Said, number: number): void {
  const message = {
    role: "assistant",
    content: said.say ?? null,
    ...(said.calls ? { tool_calls: callsOf(said) } : {}),
  };
  const choice = { index: 0, message, finish_reason: said.calls ? "tool_calls" : "stop" };
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ ...head(number, "chat.completion"), choices: [choice], usage }));
}

function sendStream(response: ServerResponse, said: Said, number: number): void {
  const send = (delta: object, finish_reason: string | null = null) => {
    const choices = [{ index: 0, delta, finish_reason }];
    response.write(`data: ${JSON.stringify({ ...head(number, "chat.completion.chunk"), choices })}\n\n`);
  };
  response.writeHead(200, { "content-type": "text/event-stream" });
  send({ role: "assistant", content: "" });
  for (const word of said.say?.match(/\s*\S+\s*/g) ?? []) send({ content: word });
  for (const [index, call] of callsOf(said).entries()) {
    const text = call.function.arguments;
    send({ tool_calls: [{ ...call, index, function: { name: call.function.name, arguments: "" } }] });
    for (const part of [text.slice(0, 3), text.slice(3)])
      send({ tool_calls: [{ index, function: { arguments: part } }] });
  }
  send({}, said.calls ? "tool_calls" : "stop");
  response.end("data: [DONE]\n\n");
}

function head(number: number, object: string) {
  return { id: `chatcmpl-${number}`, object, created: 0, model: "stub" };
}

function callsOf(said: Said) {
  return (said.calls ?? []).map(({ id, name, args }) => ({
    id,
    type: "function",
    function: { name, arguments: typeof args === "string" ? args : JSON.stringify(args) },
  }));
}
