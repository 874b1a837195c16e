// Response: a model's answer, made fit to be judged and stored.
//
//   response-1. Every call is kept: what cannot be used as arguments becomes a call with `{}` that is marked and never runs.
//   response-2. Call ids are present and unique within a message. A message id that the state already has is replaced,
//               because an older message would otherwise be overwritten in place.

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { digest, type JsonObject, notHashable, type ProposedCall, sha256 } from "../contracts/index.js";
import { survives } from "../observation/index.js";
import type { GraphPorts } from "./ports.js";

/** The message as it is stored, and its calls as the ledger is told of them. (response-1, response-2) */
export function normalise(
  ports: Pick<GraphPorts, "newId" | "jsonProblem">,
  response: BaseMessage,
  earlier: readonly BaseMessage[],
): { message: AIMessage; calls: ProposedCall[] } {
  const ai = response as AIMessage;
  const raw = rawArguments(ai);
  const seen = new Set<string>();
  const unique = (id: string | undefined) => {
    const kept = id !== undefined && id !== "" && !seen.has(id) ? id : `call_${ports.newId()}`;
    seen.add(kept);
    return kept;
  };
  const calls = [
    ...(ai.tool_calls ?? []).map((call) => {
      const text = call.id === undefined ? undefined : raw.get(call.id);
      const problem =
        notHashable(call.args) ?? (text === undefined ? undefined : ports.jsonProblem(text)) ?? revivable(call.args);
      return {
        name: call.name,
        id: unique(call.id),
        args: (problem === undefined ? call.args : {}) as JsonObject,
        problem,
      };
    }),
    ...(ai.invalid_tool_calls ?? []).map((call) => ({
      name: call.name ?? "",
      id: unique(call.id),
      args: {} as JsonObject,
      problem: call.error ?? "they are not a JSON object",
    })),
  ];
  const { tool_calls: _dropped, ...additional } = (ai.additional_kwargs ?? {}) as Record<string, unknown>; // would say the same twice
  const known = ai.id !== undefined && earlier.some((message) => message.id === ai.id);
  const message = new AIMessage({
    content: ai.content,
    id: ai.id === undefined || known ? ports.newId() : ai.id,
    ...(ai.name === undefined ? {} : { name: ai.name }),
    additional_kwargs: additional,
    response_metadata: { ...ai.response_metadata },
    ...(ai.usage_metadata === undefined ? {} : { usage_metadata: ai.usage_metadata }),
    tool_calls: calls.map(({ name, id, args }) => ({ name, id, args, type: "tool_call" as const })),
    invalid_tool_calls: [],
  } as ConstructorParameters<typeof AIMessage>[0]);
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

/** Arguments that a checkpointer would bring back as something else than they are must not be stored, let alone approved. */
function revivable(args: unknown): string | undefined {
  return survives(args) ? undefined : "they hold what a checkpoint would not keep as it is (a key such as `lc`)";
}

/**
 * Arguments as the provider sent them, where the message still holds the text: the only place where doubled keys can be
 * seen, and where text that was cut off was not yet mended into an object.
 */
function rawArguments(message: AIMessage): Map<string, string> {
  const raw = new Map<string, string>();
  const keep = (id: unknown, text: unknown) => {
    if (typeof id === "string" && typeof text === "string" && text !== "") raw.set(id, text);
  };
  const calls = (message.additional_kwargs as { tool_calls?: unknown }).tool_calls;
  for (const call of Array.isArray(calls) ? calls : []) {
    const { id, function: called } = (call ?? {}) as { id?: unknown; function?: { arguments?: unknown } };
    keep(id, called?.arguments);
  }
  for (const chunk of (message as { tool_call_chunks?: { id?: string; args?: string }[] }).tool_call_chunks ?? []) {
    keep(chunk.id, chunk.args);
  }
  return raw;
}
