// Fit: whether a tool's schema lets a rule be tested at all. It is pure and never throws.
//
//   fit-1. A deny that cannot be tested on a tool (the parameter is not there, or is of a type that the condition is not for)
//          would deny every call of it. The tool is withheld instead, by name and with the rule.
//   fit-2. A rule whose condition no value can meet that the schemas allow is a finding. An ask that cannot be tested asks about
//          every call, and is one, too.

import { type DecisionKind, isBuiltIn, type JsonObject, oneLine } from "../contracts/index.js";
import type { ArgumentTest } from "./arguments.js";
import { type Condition, meetsCondition } from "./condition.js";
import { type Parameter, parameterOf } from "./parameter.js";
import { meets, type Target, type ToolPattern } from "./pattern.js";

/** A tool with the schema that the model is shown. */
export interface ToolWithSchema extends Target {
  readonly inputSchema: JsonObject;
}

interface TestedRule {
  readonly kind: DecisionKind;
  readonly pattern: ToolPattern;
  readonly tests: readonly ArgumentTest[];
}

/** Whether a rule is about a tool, whatever the arguments. Built-ins are named, never covered. */
export function isFor(pattern: ToolPattern, target: Target): boolean {
  const hit = meets(pattern, target);
  return hit === "name" || (hit === "glob" && !isBuiltIn(target));
}

/** Why the tests of a rule cannot be made on a tool; undefined when they can. */
export function untestable({ tests }: TestedRule, { inputSchema }: ToolWithSchema): string | undefined {
  for (const { param, condition } of tests) {
    const parameter = parameterOf(inputSchema, param);
    if (parameter === undefined) return `it has no parameter \`${oneLine(param, 80)}\``;
    const types = typesIn(parameter);
    if (types !== undefined && !testedTypes(condition).some((type) => types.has(type))) {
      return `its parameter \`${oneLine(param, 80)}\` is no ${testedTypes(condition).join(" or ")}`;
    }
  }
  return undefined;
}

/** Why no value that the schema allows meets the tests of a rule; undefined when one may. */
export function unmeetable({ kind, tests }: TestedRule, { inputSchema }: ToolWithSchema): string | undefined {
  for (const { param, condition } of tests) {
    const parameter = parameterOf(inputSchema, param);
    const values = parameter?.values ?? (isList(parameter) ? parameter?.items?.values : undefined);
    if (values?.every((value) => !meetsCondition(condition, value, kind))) {
      return `none of the values that \`${oneLine(param, 80)}\` may have meets it`;
    }
  }
  return undefined;
}

function testedTypes(condition: Condition): readonly string[] {
  switch (condition.kind) {
    case "number":
      return ["number"];
    case "url":
      return ["string"];
    case "text":
      return condition.literal === undefined ? ["string"] : ["string", typeof condition.literal];
  }
}

/** The types that a condition sees: those of a list's elements with the others. */
function typesIn({ types, items }: Parameter): ReadonlySet<string> | undefined {
  if (types === undefined || !types.has("array")) return types;
  return items?.types === undefined ? undefined : new Set([...types, ...items.types]);
}

function isList(parameter: Parameter | undefined): boolean {
  return parameter?.types?.size === 1 && parameter.types.has("array");
}
