// Providers say a call twice: in `tool_calls`, and again as a part of the content or of the response they keep
// (Anthropic's `tool_use`, OpenAI's `function_call`, LangChain's `tool_call`). Adapters send either copy back to the model.
//
//   same-calls-1. Each copy has the id, the name and the arguments of the call that is judged.
//   same-calls-2. A copy of no call is left out: nobody would judge it, and a provider refuses a call without an answer.

import type { JsonObject } from "../contracts/index.js";

/** A call as it is judged, and the id under which the model's message has it. */
export interface SameCall {
  readonly given: unknown;
  readonly id: string;
  readonly name: string;
  readonly args: JsonObject;
}

type Part = Readonly<Record<string, unknown>>;
type Write = (call: SameCall, part: Part) => Part;

const standard: Write = ({ id, name, args }) => ({ type: "tool_call", id, name, args });
const anthropic: Write = ({ id, name, args }, { index: _, partial_json: __, ...rest }) => ({
  ...rest,
  type: "tool_use",
  id,
  name,
  input: args,
});

/** How each kind of copy is written. `index` and the like tell where a streamed part belongs, and it has its place now. */
const COPIES: Readonly<Record<string, Write>> = {
  tool_call: standard,
  tool_call_chunk: standard,
  invalid_tool_call: standard,
  tool_use: anthropic,
  input_json_delta: anthropic,
  function_call: ({ id, name, args }, part) => ({ ...part, call_id: id, name, arguments: JSON.stringify(args) }),
  functionCall: ({ name, args }, part) => ({ ...part, functionCall: { ...(part.functionCall as Part), name, args } }),
};

/** The same parts, with each copy of a call as the call is judged. **Contract:** the parts are plain data. */
export function withSameCalls(parts: readonly unknown[], calls: readonly SameCall[]): unknown[] {
  const left = [...calls];
  return parts.flatMap((part) => {
    const write = writerOf(part);
    if (write === undefined) return [part];
    const at = left.findIndex((call) => isCopyOf(part as Part, call));
    const [call] = at < 0 ? [] : left.splice(at, 1); // two calls with one id have their copies in the same order
    return call === undefined ? [] : [write(call, part as Part)];
  });
}

function writerOf(part: unknown): Write | undefined {
  if (typeof part !== "object" || part === null) return undefined;
  const { type = "functionCall" in part ? "functionCall" : undefined } = part as Part; // Google's parts name no type
  return typeof type === "string" && Object.hasOwn(COPIES, type) ? COPIES[type] : undefined;
}

/** By id. A copy without an id is one of the first call of its name. */
function isCopyOf(part: Part, { given, name }: SameCall): boolean {
  const { id: inside, name: called } = (part.functionCall ?? {}) as Part;
  const id = part.call_id ?? (part.type === "function_call" ? undefined : part.id) ?? inside;
  return typeof id === "string" && id !== "" ? id === given : (part.name ?? called) === name;
}
