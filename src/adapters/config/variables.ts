// Fills `${VAR}` and `${VAR:-default}` into every string of a configuration. Keys are not expanded. The result shares no
// object with the value it was made from. Nesting is bounded, so no value can overflow the stack.
//
//   variables-1. An unset variable without a default is an error that names the variable and the key. It never becomes an
//                empty string.
//   variables-2. As in a shell, `:-` also applies to a variable that is set to an empty string.
//   variables-3. There is one pass: what a variable holds is not expanded again.
//   variables-4. Forms of other hosts, such as `${env:VAR}` and `${input:id}`, and a missing brace are refused. Text that does
//                not begin like a name (`${}`, `${1}`, `$VAR`) stays unchanged.

import { isObject, oneLine } from "../../contracts/index.js";
import { MAX_JSON_DEPTH, type Path } from "./strict-json.js";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The expanded value, and the variables that were filled in. */
export interface Expanded {
  readonly value: unknown;
  /** Names and values of the variables that were filled in. */
  readonly used: ReadonlyMap<string, string>;
}

/** Why a string cannot be expanded. */
export interface VariableProblem {
  readonly path: Path;
  readonly kind: "unset" | "foreign" | "shape";
  /** The variable's name, the foreign form, or a sentence's end. */
  readonly name: string;
}

/**
 * First our own form, with name and default. Then everything else that begins like a reference: a form of another host, or
 * one without its closing brace.
 */
const REFERENCE = /\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}|\$\{[A-Za-z_]\w*(?::\w*\}?)?/g;

/** Expands every string of `value`, or says what stands in the way of the first that cannot be. */
export function expandVariables(value: unknown, env: Environment): Expanded | VariableProblem {
  const used = new Map<string, string>();
  try {
    return { value: expand(value, [], env, used), used };
  } catch (cause) {
    if (cause instanceof Stop) return cause.problem;
    throw cause;
  }
}

class Stop extends Error {
  constructor(readonly problem: VariableProblem) {
    super(problem.kind);
  }
}

function expand(value: unknown, path: Path, env: Environment, used: Map<string, string>): unknown {
  if (path.length > MAX_JSON_DEPTH) stop(path, "shape", `is nested deeper than ${MAX_JSON_DEPTH}`);
  if (typeof value === "string") return fill(value, path, env, used);
  if (Array.isArray(value)) return value.map((item, index) => expand(item, [...path, index], env, used));
  if (!isObject(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    if (key === "__proto__") stop(path, "shape", "has a key named `__proto__`");
    if (item !== undefined) copy[key] = expand(item, [...path, key], env, used);
  }
  return copy;
}

function fill(text: string, path: Path, env: Environment, used: Map<string, string>): string {
  return text.replace(REFERENCE, (whole: string, name: string | undefined, fallback: string | undefined) => {
    if (name === undefined) return stop(path, "foreign", oneLine(whole, 60)); // variables-4
    const held = Object.hasOwn(env, name) ? env[name] : undefined;
    if (held !== undefined && (held !== "" || fallback === undefined)) {
      used.set(name, held);
      return held;
    }
    if (fallback === undefined) return stop(path, "unset", name); // variables-1
    return fallback; // variables-2
  });
}

function stop(path: Path, kind: VariableProblem["kind"], name: string): never {
  throw new Stop({ path, kind, name });
}
