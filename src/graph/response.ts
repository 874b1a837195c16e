// Response: a model's answer, made fit to be judged and stored. This is its one normal form: streamed or not, whatever the
// model's adapter made of it.
//
//   response-1. Every call is kept: what cannot be used as arguments becomes a call with `{}` that is marked and never runs.
//   response-2. Call ids are present and unique within a message. A message id that the state already has is replaced,
//               because an older message would otherwise be overwritten in place.
//   response-3. Everything in the message is plain data that any checkpointer of the host's loads as it was saved.
//   response-4. A call is said once more at most in the content and in what the provider's adapter keeps, and there it is the
//               same call (same-calls.ts).

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { digest, isObject, type JsonObject, notHashable, type ProposedCall, sha256 } from "../contracts/index.js";
import { storable, storableRecord, storableText, survives } from "../observation/index.js";
import type { GraphPorts } from "./ports.js";
import { type SameCall, withSameCalls } from "./same-calls.js";

type Ports = Pick<GraphPorts, "newId" | "jsonProblem">;

interface JudgedCall extends SameCall {
  readonly problem: string | undefined;
}

/** The message as it is stored, and its calls as the ledger is told of them. */
export function normalise(
  ports: Ports,
  response: BaseMessage,
  earlier: readonly BaseMessage[],
): { message: AIMessage; calls: ProposedCall[] } {
  const ai = response as AIMessage;
  const calls = callsOf(ports, ai);
  const id = typeof ai.id === "string" ? storableText(ai.id) : undefined;
  const known = id !== undefined && earlier.some((message) => message.id === id);
  // Both would say the calls once more. What is only there was never judged.
  const { tool_calls: _, function_call: __, ...additional } = storableRecord(ai.additional_kwargs);
  const message = new AIMessage({
    content: contentOf(ai.content, calls),
    id: id === undefined || known ? ports.newId() : id,
    ...(typeof ai.name === "string" ? { name: storableText(ai.name) } : {}),
    additional_kwargs: keptParts(additional, calls),
    response_metadata: keptParts(storableRecord(ai.response_metadata), calls),
    ...(isObject(ai.usage_metadata) ? { usage_metadata: storableRecord(ai.usage_metadata) } : {}),
    tool_calls: calls.map(({ name, id, args }) => ({ name, id, args, type: "tool_call" as const })),
    invalid_tool_calls: [],
  } as unknown as ConstructorParameters<typeof AIMessage>[0]);
  return {
    message,
    calls: calls.map(({ name, id, args, problem }, index) => ({
      index,
      callId: id,
      alias: name,
      argumentsDigest: notHashable(args) === undefined ? digest(args) : sha256(""),
      ...(problem === undefined ? {} : { invalid: problem }),
    })),
  };
}

/** The calls as they are judged, those that the adapter could not read behind the others. (response-1, response-2) */
function callsOf(ports: Ports, ai: AIMessage): JudgedCall[] {
  const raw = rawArguments(ai);
  const seen = new Set<string>();
  const unique = (id: unknown) => {
    const usable = typeof id === "string" && id !== "" && storableText(id) === id && !seen.has(id);
    const kept = usable ? id : `call_${ports.newId()}`;
    seen.add(kept);
    return kept;
  };
  const called = (call: { name?: unknown; id?: unknown }, args: JsonObject, problem: string | undefined) => ({
    given: call.id,
    name: typeof call.name === "string" ? storableText(call.name) : "",
    id: unique(call.id),
    args,
    problem,
  });
  return [
    ...objectsOf(ai.tool_calls).map((call) => {
      const { args, problem } = argumentsOf(ports, call.args, raw.get(call.id));
      return called(call, args, problem);
    }),
    ...objectsOf(ai.invalid_tool_calls).map((call) =>
      called(call, {}, typeof call.error === "string" ? storableText(call.error) : "they are not a JSON object"),
    ),
  ];
}

/**
 * A copy of the arguments, so that what was judged is what is stored, whoever else holds the object or whatever a getter
 * says the next time.
 */
function argumentsOf(
  { jsonProblem }: Ports,
  given: unknown,
  text: string | undefined,
): { args: JsonObject; problem: string | undefined } {
  let args: unknown;
  try {
    const problem = notHashable(given) ?? (text === undefined ? undefined : jsonProblem(text)) ?? unusable(given);
    if (problem !== undefined) return { args: {}, problem };
    args = JSON.parse(JSON.stringify(given));
  } catch {
    return { args: {}, problem: "they cannot be read" };
  }
  const problem = notHashable(args) ?? unusable(args);
  return problem === undefined ? { args: args as JsonObject, problem } : { args: {}, problem };
}

/** Arguments that a checkpointer would bring back as something else than they are must not be stored, let alone approved. */
function unusable(args: unknown): string | undefined {
  if (!isObject(args)) return "they are not a JSON object";
  return survives(args) ? undefined : "they hold what a checkpoint would not keep as it is (a key such as `lc`)";
}

/** The content as text or as parts that are objects. A part that must not be stored as data is shown as text. (response-3, response-4) */
function contentOf(content: unknown, calls: readonly SameCall[]): unknown {
  if (typeof content === "string") return storableText(content);
  if (content === undefined || content === null) return "";
  const parts = (Array.isArray(content) ? content : [content]).flatMap((part) => {
    const kept = storable(part);
    if (kept === undefined || kept === null) return [];
    return [isObject(kept) ? kept : { type: "text", text: typeof kept === "string" ? kept : JSON.stringify(kept) }];
  });
  return withSameCalls(parts, calls);
}

/** What an adapter keeps beside the content. OpenAI's keeps the parts of the response in `response_metadata.output`. (response-4) */
function keptParts(record: Record<string, unknown>, calls: readonly SameCall[]): Record<string, unknown> {
  const entries = Object.entries(record);
  return Object.fromEntries(
    entries.map(([key, value]) => [key, Array.isArray(value) ? withSameCalls(value, calls) : value]),
  );
}

function objectsOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "object" && item !== null) : [];
}

/**
 * Arguments as the provider sent them, where the message still holds the text: the only place where doubled keys can be
 * seen, and where text that was cut off was not yet mended into an object.
 */
function rawArguments(message: AIMessage): Map<unknown, string> {
  const raw = new Map<unknown, string>();
  const keep = (id: unknown, text: unknown) => {
    if (typeof id === "string" && typeof text === "string" && text !== "") raw.set(id, text);
  };
  for (const call of objectsOf((message.additional_kwargs as { tool_calls?: unknown } | undefined)?.tool_calls)) {
    const { id, function: called } = call as { id?: unknown; function?: { arguments?: unknown } };
    keep(id, called?.arguments);
  }
  for (const chunk of objectsOf((message as { tool_call_chunks?: unknown }).tool_call_chunks)) {
    keep(chunk.id, chunk.args);
  }
  return raw;
}
