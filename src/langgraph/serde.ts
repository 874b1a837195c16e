// Serialising checkpoints: LangGraph's own JSON format, read back without reviving what a server or a model sent.
//
// LangGraph's serializer turns any object that looks like `{ lc: 1, type: "constructor", … }` back into a live class,
// wherever it stands, and refuses the whole checkpoint when the class is unknown. Here only chat messages come back as
// objects, and it is done in one synchronous pass, because loading a long thread is mostly this. Saving one is mostly
// LangGraph's search for circles, which is left to values that have some.
//
//   serde-1. What was plain data when it was saved is plain data when it is loaded, whatever it looks like.
//   serde-2. Every checkpoint that LangGraph's serializer wrote can be read.
//   serde-3. Messages come back as LangGraph's serializer would bring them back.
//   serde-4. What is written is, to the byte, what LangGraph's serializer writes (plain data of serde-1 aside).

import * as messages from "@langchain/core/messages";
import { DeltaSnapshot, JsonPlusSerializer } from "@langchain/langgraph-checkpoint";

type Plain = Record<string, unknown>;
type MessageClass = new (fields: never) => messages.BaseMessage;

/** LangChain's mark around plain data that holds an `lc` key. */
const ESCAPED = "__lc_escaped__";

const MESSAGE_CLASSES: Readonly<Record<string, MessageClass>> = {
  AIMessage: messages.AIMessage,
  AIMessageChunk: messages.AIMessageChunk,
  ChatMessage: messages.ChatMessage,
  ChatMessageChunk: messages.ChatMessageChunk,
  FunctionMessage: messages.FunctionMessage,
  FunctionMessageChunk: messages.FunctionMessageChunk,
  HumanMessage: messages.HumanMessage,
  HumanMessageChunk: messages.HumanMessageChunk,
  RemoveMessage: messages.RemoveMessage,
  SystemMessage: messages.SystemMessage,
  SystemMessageChunk: messages.SystemMessageChunk,
  ToolMessage: messages.ToolMessage,
  ToolMessageChunk: messages.ToolMessageChunk,
};

/** The serializer of toolgate's checkpoints; give it to any LangGraph saver that takes one. */
export class CheckpointSerializer extends JsonPlusSerializer {
  override async dumpsTyped(value: unknown): Promise<[string, Uint8Array]> {
    return this.dump(value);
  }

  /** The same, at once. */
  dump(value: unknown): [string, Uint8Array] {
    return value instanceof Uint8Array ? ["bytes", value] : ["json", this._dumps(escapePlain(value))]; // serde-1
  }

  protected override _dumps(value: unknown): Uint8Array {
    try {
      if (isPlainJson(value)) return Buffer.from(JSON.stringify(value)); // what `encoded` would leave as it is
      return Buffer.from(
        JSON.stringify(value, function (this: Plain, key, item: unknown) {
          return encoded(item, this[key]);
        }),
      );
    } catch {
      return super._dumps(value); // circles, and what has no JSON at all
    }
  }

  override async loadsTyped(type: string, data: Uint8Array | string): Promise<unknown> {
    return type === "json" ? this.loadsJson(data) : super.loadsTyped(type, data);
  }

  /** The same for JSON, at once. */
  loadsJson(data: Uint8Array | string): unknown {
    if (typeof data === "string") return revive(JSON.parse(data));
    return revive(JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("utf8")));
  }
}

/** How deep plain JSON may be nested to be written without looking at each value; this also ends a walk in circles. */
const PLAIN_DEPTH = 100;

/** Whether it holds nothing but strings, numbers, booleans, nulls, arrays without gaps and plain objects. */
function isPlainJson(value: unknown, depth = 0): boolean {
  if (typeof value !== "object")
    return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  if (value === null) return true;
  if (depth > PLAIN_DEPTH || "toJSON" in value) return false;
  if (Array.isArray(value)) {
    for (let n = 0; n < value.length; n++) if (!isPlainJson(value[n], depth + 1)) return false;
    return true;
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  for (const key in value) if (!isPlainJson((value as Plain)[key], depth + 1)) return false;
  return true;
}

/** What JSON has no form for, in LangGraph's words for it. `before` is the value before its own `toJSON`. (serde-4) */
function encoded(value: unknown, before: unknown): unknown {
  if (value === undefined) return { lc: 2, type: "undefined" };
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof DeltaSnapshot) return { lc: 2, type: "delta_snapshot", value: value.value };
  if (value instanceof Set || value instanceof Map) return constructed(value.constructor.name, null, [[...value]]);
  if (value instanceof RegExp) return constructed("RegExp", null, [value.source, value.flags]);
  if (value instanceof Error) return constructed("Error", null, [value.message]);
  if (value instanceof Uint8Array) return constructed("Uint8Array", "from", [[...value]]);
  if (isSend(before)) {
    const { node, args, timeout } = before;
    return { node, args, ...(timeout === undefined ? {} : { timeout }) };
  }
  return value;
}

/**
 * Whether it is LangGraph's `Send`. It is known by its name, because importing the class would load all of LangGraph. LangGraph's
 * serializer goes by the name, too; plain data that has the name is no `Send` here. (serde-1)
 */
function isSend(value: unknown): value is Plain {
  if (typeof value !== "object" || value === null || (value as Plain).lg_name !== "Send") return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype !== Object.prototype && prototype !== null;
}

function constructed(name: string, method: string | null, args: unknown[]) {
  return { lc: 2, type: "constructor", id: [name], method, args, kwargs: {} };
}

/** Marks plain objects with an `lc` key, outside messages (which mark their own). Copies only what it changes. */
function escapePlain(value: unknown, ancestors: Set<object> = new Set()): unknown {
  if (typeof value !== "object" || value === null || ancestors.has(value)) return value;
  ancestors.add(value);
  const escaped = escapeInside(value, ancestors);
  ancestors.delete(value);
  return escaped;
}

function escapeInside(value: object, ancestors: Set<object>): unknown {
  if (Array.isArray(value)) return escapeItems(value, ancestors);
  if (value instanceof Map) return new Map(escapeItems([...value], ancestors) as [unknown, unknown][]);
  if (value instanceof Set) return new Set(escapeItems([...value], ancestors));
  if (value instanceof DeltaSnapshot) return new DeltaSnapshot(escapePlain(value.value, ancestors));
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const record = value as Plain;
  if (Object.hasOwn(record, "lc") || isEscaped(record)) return { [ESCAPED]: record };
  let copy: Plain | undefined;
  for (const key of Object.keys(record)) {
    const before = record[key];
    const after = escapePlain(before, ancestors);
    if (after === before) continue;
    copy ??= { ...record };
    define(copy, key, after);
  }
  return copy ?? record;
}

function escapeItems(items: readonly unknown[], ancestors: Set<object>): readonly unknown[] {
  const escaped = items.map((item) => escapePlain(item, ancestors));
  return escaped.every((item, index) => item === items[index]) ? items : escaped;
}

/** From the outside in, so that what stands inside a mark is never looked at. */
function revive(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    for (const [index, before] of value.entries()) {
      const after = revive(before);
      if (after !== before) value[index] = after;
    }
    return value;
  }
  const record = value as Plain;
  if (isEscaped(record)) return record[ESCAPED]; // serde-1
  if (record.lc === 1 && record.type === "constructor" && Array.isArray(record.id)) {
    const message = reviveMessage(record);
    if (message) return message;
  }
  for (const key of Object.keys(record)) {
    const before = record[key];
    const after = revive(before);
    if (after !== before) define(record, key, after); // most of it stays as it is
  }
  return record.lc === 2 ? reviveBuiltIn(record) : record;
}

/** `JSON.parse` makes `__proto__` an own key; assigning it would set the prototype instead. */
function define(record: Plain, key: string, value: unknown): void {
  if (key === "__proto__")
    Object.defineProperty(record, key, { value, enumerable: true, configurable: true, writable: true });
  else record[key] = value;
}

function isEscaped(record: Plain): boolean {
  return Object.hasOwn(record, ESCAPED) && Object.keys(record).length === 1;
}

/** A message, or undefined for every other class: those stay plain data. */
function reviveMessage(record: Plain): messages.BaseMessage | undefined {
  const id = record.id as unknown[];
  const name = id.at(-1);
  if (id[0] !== "langchain_core" || id[1] !== "messages" || typeof name !== "string") return undefined;
  const Class = Object.hasOwn(MESSAGE_CLASSES, name) ? MESSAGE_CLASSES[name] : undefined;
  if (!Class || typeof record.kwargs !== "object" || record.kwargs === null) return undefined;
  const kwargs = record.kwargs as Plain;
  const fields: Plain = {};
  for (const key of Object.keys(kwargs)) fields[fieldName(key)] = revive(kwargs[key]); // serde-3
  try {
    return new Class(fields as never);
  } catch {
    return undefined;
  }
}

/** Fields whose name has an underscore in the class too; every other one is camel case there. */
const SNAKE_FIELDS: ReadonlySet<string> = new Set([
  "additional_kwargs",
  "invalid_tool_calls",
  "response_metadata",
  "tool_call_chunks",
  "tool_call_id",
  "tool_calls",
  "usage_metadata",
]);

function fieldName(key: string): string {
  if (SNAKE_FIELDS.has(key) || !key.includes("_")) return key;
  return key.toLowerCase().replace(/_+([a-z0-9])/g, (_, char: string) => char.toUpperCase());
}

/** The closed set LangGraph writes for what JSON has no form for. */
function reviveBuiltIn(record: Plain): unknown {
  if (record.type === "undefined") return undefined;
  if (record.type === "delta_snapshot" && Object.hasOwn(record, "value")) return new DeltaSnapshot(record.value);
  if (record.type !== "constructor" || !Array.isArray(record.id) || record.id.length !== 1) return record;
  const args = Array.isArray(record.args) ? record.args : [];
  const [first, second] = args;
  const list = args.length === 1 && Array.isArray(first) ? first : undefined;
  switch (record.id[0]) {
    case "Set":
      return list ? new Set(list) : record;
    case "Map":
      return list?.every((entry) => Array.isArray(entry) && entry.length === 2) ? new Map(list) : record;
    case "Uint8Array":
      return list?.every((byte) => Number.isInteger(byte) && byte >= 0 && byte <= 255) ? new Uint8Array(list) : record;
    case "Error":
      return args.length === 1 && typeof first === "string" ? new Error(first) : record;
    case "RegExp":
      return typeof first === "string" && typeof second === "string" ? regExp(first, second, record) : record;
    default:
      return record;
  }
}

function regExp(source: string, flags: string, record: Plain): unknown {
  try {
    return new RegExp(source, flags);
  } catch {
    return record;
  }
}
