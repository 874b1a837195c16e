// Argument tests: the part `(path:reports/*, mode:append)` of a rule.
//
// They are pure and never throw.
//
//   arguments-1. A rule applies only if all its tests hold.
//   arguments-2. A value that cannot be evaluated meets no test of an allow and every test of a deny or an ask.

import { type DecisionKind, hasHidden, type JsonObject } from "../contracts/index.js";
import { type Glob, matches, pathGlob } from "./glob.js";

export interface ArgumentTest {
  readonly param: string;
  readonly glob: Glob;
  /** No value that can be evaluated has the form of the glob, so an allow with this test never applies. */
  readonly futile: boolean;
}

/** Reads what stands between the parentheses; undefined when it is no list of `param:glob`. */
export function readTests(text: string): ArgumentTest[] | undefined {
  if (/\p{Cc}/u.test(text) || hasHidden(text)) return undefined;
  const tests: ArgumentTest[] = [];
  for (const item of text.split(",")) {
    const colon = item.indexOf(":");
    const param = item.slice(0, Math.max(colon, 0)).trim();
    const glob = item.slice(colon + 1).trim();
    if (param === "" || glob === "") return undefined;
    tests.push({ param, glob: pathGlob(glob), futile: !evaluable(glob.replaceAll("*", "x")) });
  }
  return tests;
}

/** Whether the arguments meet every test of a rule of this kind. (arguments-1) */
export function meetsTests(tests: readonly ArgumentTest[], args: JsonObject, kind: DecisionKind): boolean {
  return tests.every(({ param, glob }) => {
    const value = own(args, param);
    return evaluable(value) ? matches(glob, value) : kind !== "allow"; // arguments-2
  });
}

/** A top-level argument, never an inherited property. */
function own(args: JsonObject, param: string): unknown {
  const container: unknown = args;
  if (typeof container !== "object" || container === null) return undefined;
  return Object.getOwnPropertyDescriptor(container, param)?.value;
}

/** Whether a value is text that means the same to a glob as to a program that opens it as a path or an address. */
function evaluable(value: unknown): value is string {
  if (typeof value !== "string") return false;
  if (value.startsWith("~") || value.includes("//") || value.includes("\\")) return false;
  if (/%2[ef]/i.test(value) || /\p{Cc}/u.test(value) || hasHidden(value)) return false;
  return !value.split("/").some((segment) => segment === "." || segment === "..");
}
