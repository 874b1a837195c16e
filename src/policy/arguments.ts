// Argument tests: the part `(path:reports/*, amount:<=100)` of a rule.
//
// They are pure and never throw.
//
//   arguments-1. A rule applies only if all its tests hold.
//   arguments-2. A value that has no normal form meets no test of an allow and every test of a deny or an ask; so does an
//                argument that is missing.

import type { DecisionKind, JsonObject } from "../contracts/index.js";
import { type Condition, isFutile, meetsCondition, readCondition } from "./condition.js";
import { hasUnseen } from "./spelling.js";

export interface ArgumentTest {
  readonly param: string;
  /** As it is written. */
  readonly text: string;
  readonly condition: Condition;
  /** No value that has a normal form is covered, so an allow with this test never applies. */
  readonly futile: boolean;
}

/** Reads what stands between the parentheses of a rule of this kind, or says what is wrong with it. */
export function readTests(text: string, kind: DecisionKind): ArgumentTest[] | string {
  const none = "has an argument test that is not `(param:glob, …)`";
  if (hasUnseen(text)) return none;
  const tests: ArgumentTest[] = [];
  for (const item of text.split(",")) {
    const colon = item.indexOf(":");
    const param = item.slice(0, Math.max(colon, 0)).trim();
    const written = item.slice(colon + 1).trim();
    if (param === "" || written === "") return none;
    const condition = readCondition(written, kind);
    if (typeof condition === "string") return `has a test of \`${param}\` that ${condition}`;
    tests.push({ param, text: written, condition, futile: isFutile(condition) });
  }
  return tests;
}

/** Whether the arguments meet every test of a rule of this kind. (arguments-1) */
export function meetsTests(tests: readonly ArgumentTest[], args: JsonObject, kind: DecisionKind): boolean {
  return tests.every(({ param, condition }) => meetsCondition(condition, own(args, param), kind)); // arguments-2
}

/** A top-level argument, never an inherited property. */
function own(args: JsonObject, param: string): unknown {
  const container: unknown = args;
  if (typeof container !== "object" || container === null) return undefined;
  return Object.getOwnPropertyDescriptor(container, param)?.value;
}
