// Condition: what an argument test asks of a value. How it is written says which kind it is.
//
//   `<=100`, `>0`, `=5`    a number
//   `https://…`            an address
//   everything else        text, and a path where it has a `/` or begins with `~` or `.`; one that is written as a number or
//                          as `true` or `false` is met by that value, too
//
//   condition-1. A value of a kind that a condition cannot test has no normal form: it meets no allow, and every deny and ask.
//   condition-2. A list meets an allow if it has an element and all of them meet it. It meets a deny or an ask if one element
//                does, or if it is empty: what a server does without any is not known.

import type { DecisionKind } from "../contracts/index.js";
import { fold } from "./spelling.js";
import { looselyCovers, strictlyCovers, type TextTest, textTest } from "./text-test.js";
import { looselyNames, strictlyNames, type UrlTest, urlTest } from "./url-test.js";

type Comparison = "<=" | ">=" | "<" | ">" | "=";

export type Condition =
  | { readonly kind: "number"; readonly comparison: Comparison; readonly bound: number }
  | { readonly kind: "url"; readonly url: UrlTest }
  | { readonly kind: "text"; readonly text: TextTest; readonly literal?: number | boolean };

/** Plain digits: no exponent, no other base, nothing that a number of JSON cannot hold exactly. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/u;

/** Reads a condition of a rule of this kind, or says what is wrong with it. */
export function readCondition(text: string, kind: DecisionKind): Condition | string {
  const [, sign, rest = ""] = /^(<=|>=|<|>|=)\s*(.*)$/su.exec(text) ?? [];
  if (sign !== undefined) {
    const bound = numberOf(rest);
    if (bound === undefined) return `compares with \`${rest}\`, which is no plain number`;
    return { kind: "number", comparison: sign as Comparison, bound };
  }
  if (/^(?:\*|[a-z][a-z0-9+.-]*):\/\//iu.test(text) && !/^file:/iu.test(text)) {
    const url = urlTest(text, kind === "allow" ? "narrow" : "wide");
    return typeof url === "string" ? url : { kind: "url", url };
  }
  const literal = text === "true" || text === "false" ? text === "true" : numberOf(text);
  return { kind: "text", text: textTest(text), ...(literal === undefined ? {} : { literal }) };
}

/** Whether an allow with this condition can never be met, whatever the value. */
export function isFutile(condition: Condition): boolean {
  return condition.kind === "text" && condition.text.futile && condition.literal === undefined;
}

/** Whether a value meets the condition of a rule of this kind. Never throws. (condition-2) */
export function meetsCondition(condition: Condition, value: unknown, kind: DecisionKind): boolean {
  const wide = kind !== "allow";
  if (!Array.isArray(value)) return meetsOne(condition, value, wide);
  if (value.length === 0) return wide;
  const elements = [...(value as unknown[])];
  const meets = (element: unknown) => meetsOne(condition, element, wide);
  return wide ? elements.some(meets) : elements.every(meets);
}

function meetsOne(condition: Condition, value: unknown, wide: boolean): boolean {
  switch (condition.kind) {
    case "number":
      return typeof value === "number" && Number.isFinite(value) ? compares(condition, value) : wide; // condition-1
    case "url":
      if (typeof value !== "string") return wide;
      return wide ? looselyNames(condition.url, value) : strictlyNames(condition.url, value);
    case "text": {
      const { text, literal } = condition;
      if (literal !== undefined && typeof value === typeof literal && !Number.isNaN(value)) return value === literal;
      if (typeof value !== "string") return wide;
      if (!wide) return strictlyCovers(text, value);
      return looselyCovers(text, value) || (typeof literal === "number" && isWritten(literal, value));
    }
  }
}

function compares({ comparison, bound }: Extract<Condition, { readonly kind: "number" }>, value: number): boolean {
  switch (comparison) {
    case "<=":
      return value <= bound;
    case ">=":
      return value >= bound;
    case "<":
      return value < bound;
    case ">":
      return value > bound;
    case "=":
      return value === bound;
  }
}

/** Whether a text is the number in another spelling, such as `05`, `5.0` or `5e0`. */
function isWritten(number: number, value: string): boolean {
  const text = fold(value).trim();
  return text !== "" && Number(text) === number;
}

function numberOf(text: string): number | undefined {
  const number = NUMBER.test(text) ? Number(text) : Number.NaN;
  return Math.abs(number) <= Number.MAX_SAFE_INTEGER ? number : undefined;
}
