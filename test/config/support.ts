// What the tests of the configuration share: reading without a disk, and a refusal as plain data.

import { type Loaded, resolveConfig } from "../../src/adapters/config/load.js";
import { parseStrictJson } from "../../src/adapters/config/strict-json.js";
import type { Environment } from "../../src/adapters/config/variables.js";
import { ToolgateError } from "../../src/contracts/index.js";

/** The text `${name}` or `${name:-fallback}`, as a file has it. */
export function ref(name: string, fallback?: string): string {
  return fallback === undefined ? `\${${name}}` : `\${${name}:-${fallback}}`;
}

/** Reads a text as if it were the file `/srv/app/toolgate.json`. */
export function load(text: string, env: Environment = {}): Loaded {
  const parsed = parseStrictJson(text, { comments: true, whenEmpty: {} });
  if (!parsed.ok) throw new Error(`the test's own text is no JSON: ${parsed.problem}`);
  return resolveConfig(parsed.value, { folder: "/srv/app", env, text, file: "toolgate.json" });
}

export interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

/** The `ToolgateError` that `action` throws. Any other error, or none, fails the test. */
export async function refusalOf(action: () => unknown): Promise<Refusal> {
  try {
    await action();
  } catch (error) {
    if (!(error instanceof ToolgateError)) throw error;
    return { code: error.code, message: error.message, hint: error.hint };
  }
  throw new Error("it was taken");
}
