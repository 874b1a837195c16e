// Difference: says what of a tool's definition has changed, for the person who is asked about it.
//
// It is pure.
//
//   difference-1. The text is one line of at most `TEXT_CHARS`, however long the two definitions are, and it holds no hidden
//                 code point. What a server wrote stands in quotes as JSON, so that it cannot look like toolgate's own words.
//   difference-2. Two definitions with different digests never have an empty difference.
//   difference-3. Of long texts the part is shown where they begin to differ.

import { canonicalJson, escapeHidden, isObject, type JsonObject, type KnownTool, oneLine } from "../contracts/index.js";
import { own } from "./walk.js";

/** Characters of the text. */
export const TEXT_CHARS = 1_400;
/** Characters shown of an old or a new text. */
const SHOWN_CHARS = 160;
/** Of these, characters before the place where the two begin to differ. */
const BEFORE_CHARS = 40;
/** Names of parameters that are listed. */
const NAMES = 6;

/** What has changed of a tool. **Contract:** the digests differ. */
export function differenceOf(before: KnownTool, now: KnownTool): string {
  const parts = isKept(before) && isKept(now) ? partsOf(before, now) : ["it is too long to be kept and compared"];
  const said = parts.length > 0 ? parts : ["a part of it that the model is not shown"]; // difference-2
  return oneLine(said.join("; "), TEXT_CHARS); // difference-1
}

function isKept({ inputSchema }: KnownTool): boolean {
  return inputSchema !== undefined;
}

function partsOf(before: KnownTool, now: KnownTool): string[] {
  return [
    ...changed("description", before.description ?? "", now.description ?? ""),
    ...changed("title", before.title ?? "", now.title ?? ""),
    ...parameters(before.inputSchema, now.inputSchema),
    ...members("input schema", without(before.inputSchema), without(now.inputSchema)),
    ...members("annotations", before.annotations ?? {}, now.annotations ?? {}),
    ...members("output schema", before.outputSchema ?? {}, now.outputSchema ?? {}),
  ];
}

function parameters(before: JsonObject | undefined, now: JsonObject | undefined): string[] {
  const [old, fresh] = [propertiesOf(before), propertiesOf(now)];
  const added = Object.keys(fresh).filter((name) => !Object.hasOwn(old, name));
  const removed = Object.keys(old).filter((name) => !Object.hasOwn(fresh, name));
  const named = (what: string, names: readonly string[]) => {
    if (names.length === 0) return [];
    const more = names.length > NAMES ? ` and ${names.length - NAMES} more` : "";
    return [`${what}: ${names.slice(0, NAMES).map(nameText).join(", ")}${more}`];
  };
  const both = Object.keys(old).filter((name) => Object.hasOwn(fresh, name));
  return [
    ...named("parameters added", added),
    ...named("parameters removed", removed),
    ...both.flatMap((name) => changed(`parameter ${nameText(name)}`, old[name], fresh[name])),
  ];
}

/** The members of an object that differ, each with what it was and what it is. */
function members(what: string, before: JsonObject, now: JsonObject): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...names].sort().flatMap((name) => changed(`${what} ${nameText(name)}`, own(before, name), own(now, name)));
}

function changed(what: string, before: unknown, now: unknown): string[] {
  const [was, is] = [textOf(before), textOf(now)];
  if (was === is) return [];
  const at = firstDifference(was, is);
  return [`${what}: was ${shown(was, at)}, is ${shown(is, at)}`];
}

/** A text as it is; every other value as canonical JSON, whatever the order of its keys; nothing where there is none. */
function textOf(value: unknown): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : canonicalJson(value);
}

function firstDifference(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  return at;
}

/** The part of a text about the place where it begins to differ, in quotes. (difference-3) */
function shown(text: string, at: number): string {
  if (text === "") return "nothing";
  const start = text.length <= SHOWN_CHARS ? 0 : Math.max(0, Math.min(at - BEFORE_CHARS, text.length - SHOWN_CHARS));
  const part = text.slice(start, start + SHOWN_CHARS).replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, "");
  const end = start + SHOWN_CHARS < text.length ? "…" : "";
  return `${start > 0 ? "…" : ""}${escapeHidden(JSON.stringify(part))}${end}`;
}

const nameText = (name: string): string => `\`${oneLine(name, 60)}\``;

function propertiesOf(schema: JsonObject | undefined): JsonObject {
  const properties = schema === undefined ? undefined : own(schema, "properties");
  return isObject(properties) ? properties : {};
}

function without(schema: JsonObject | undefined): JsonObject {
  const { properties: _, ...rest } = schema ?? {};
  return rest;
}
