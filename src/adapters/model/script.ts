// A script: what a scripted model says, step by step, as an array in code or in a JSON file.
//
//   script-1. Arguments are read strictly. A call whose raw arguments are no object, or name a key twice, is an invalid call.
//             It never becomes a call with repaired arguments.
//   script-2. A file is read in one pass, whose time grows with its length and with nothing else.

import { z } from "zod";
import { isObject, ToolgateError } from "../../contracts/index.js";
import { type Path, parseStrictJson } from "../config/strict-json.js";

export const ScriptCall = z.strictObject({
  name: z.string(),
  /** An object, or the raw text a provider would have sent. @default {} */
  args: z.union([z.record(z.string(), z.unknown()), z.string()]).optional(),
  /** @default `call_<step>_<index>`, both counted from 1 */
  id: z.string().optional(),
});
export type ScriptCall = z.infer<typeof ScriptCall>;

export const ScriptStep = z.strictObject({
  say: z.string().optional(),
  calls: z.array(ScriptCall).optional(),
  /** The request fails with this message. */
  fail: z.string().optional(),
});
export type ScriptStep = z.infer<typeof ScriptStep>;

/** A call's arguments, or why they cannot be used. (script-1) */
export function readArguments(
  args: ScriptCall["args"],
): { ok: true; value: Record<string, unknown> } | { ok: false; raw: string; problem: string } {
  if (args === undefined) return { ok: true, value: {} };
  if (typeof args !== "string") return { ok: true, value: args };
  const parsed = parseStrictJson(args);
  if (!parsed.ok) return { ok: false, raw: args, problem: parsed.problem };
  const { value } = parsed;
  if (isObject(value)) return { ok: true, value };
  return { ok: false, raw: args, problem: "the arguments are no object" };
}

/** Reads a script file's text. Throws `config_invalid`. */
export function parseScript(text: string, path: string): ScriptStep[] {
  const hint = 'a script is an array of { "say"?: string, "calls"?: [{ "name", "args", "id"? }] }';
  // A key that is twice in the arguments of a call makes that call invalid, as it would from a provider. Anywhere else it
  // makes the file invalid.
  const parsed = parseStrictJson(text, { rawAt: isArguments });
  if (!parsed.ok) {
    const at = ` at line ${parsed.line}, column ${parsed.column}: ${parsed.problem}`;
    throw new ToolgateError("config_invalid", `the script \`${path}\` cannot be read${at}`, hint);
  }
  const steps = z.array(ScriptStep).safeParse(parsed.value);
  if (steps.success) return steps.data;
  const [issue] = steps.error.issues;
  const where = issue && issue.path.length > 0 ? ` at \`${issue.path.join(".")}\`` : "";
  throw new ToolgateError("config_invalid", `the script \`${path}\` is not valid${where}: ${issue?.message}`, hint);
}

/** `[ { "calls": [ { "args": …` */
function isArguments(path: Path): boolean {
  return path.length === 4 && path[1] === "calls" && path[3] === "args";
}
