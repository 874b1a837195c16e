// Bodies: writes what a call returned as the JSON text that is stored, and reads it back.
//
//   body-1. Every value has a body: what JSON cannot hold is replaced by a visible mark. Making a body never throws.
//   body-2. Every store of text can hold a body: NUL and lone surrogates are JSON escapes in it, and nothing is nested deeper
//           than `MAX_DEPTH`.
//   body-3. What JSON can hold is equal when it is read back.

import { isBaseMessage } from "@langchain/core/messages";
import { type JsonObject, MAX_DEPTH } from "../contracts/index.js";

/** An MCP `CallToolResult` as far as it can be relied on. */
export interface ResultBody {
  readonly content: unknown[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
}

/** JSON text of a result, made storable. Never throws. (body-1, body-2) */
export function toBody(result: unknown): string {
  return JSON.stringify(storable(result, [])) ?? "null";
}

/** Reads a body. Text that is no body reads as one text block. */
export function fromBody(body: string): ResultBody {
  let value: unknown;
  try {
    value = JSON.parse(body);
    if (isDeep(value)) value = storable(value, []); // a body that was not made by `toBody`
  } catch {
    return { content: [{ type: "text", text: body }] };
  }
  if (!isObject(value)) return { content: value === null ? [] : [{ type: "text", text: JSON.stringify(value) }] };
  return {
    content: Array.isArray(value.content) ? value.content : [],
    ...("structuredContent" in value ? { structuredContent: value.structuredContent } : {}),
    ...(typeof value.isError === "boolean" ? { isError: value.isError } : {}),
  };
}

/** What a LangChain tool of the host returned, in the shape of an MCP result: text, blocks, a tool message, or data. */
export function localResult(value: unknown): JsonObject {
  if (isBaseMessage(value)) {
    const failed = "status" in value && value.status === "error";
    return { content: blocks(value.content), ...(failed ? { isError: true } : {}) };
  }
  if (value === undefined || value === null) return { content: [] };
  if (typeof value === "string" || isBlocks(value)) return { content: blocks(value) };
  const data = JSON.parse(toBody(value)) as unknown;
  const content = [{ type: "text", text: JSON.stringify(data) }];
  return isObject(data) ? { content, structuredContent: data } : { content };
}

function isBlocks(value: unknown): value is unknown[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => isObject(item) && isBlockType(item.type));
}

function isBlockType(type: unknown): boolean {
  return type === "text" || type === "image" || type === "image_url" || type === "audio" || type === "file";
}

/** LangChain's content as MCP's. */
function blocks(content: unknown): unknown[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return Array.isArray(content)
    ? content.map((item) => (isObject(item) ? block(item) : textOf(item)))
    : [textOf(content)];
}

function block(item: JsonObject): JsonObject {
  const mimeType = item.mimeType ?? item.mime_type;
  const data = typeof item.data === "string" ? item.data : undefined;
  switch (item.type) {
    case "text":
      return { type: "text", text: typeof item.text === "string" ? item.text : "" };
    case "image":
    case "audio":
      return data === undefined ? textOf(item) : { type: item.type, data, mimeType };
    case "image_url": {
      const source = isObject(item.image_url) ? item.image_url.url : item.image_url;
      const [, type, base64] = /^data:([^;,]+);base64,(.*)$/s.exec(String(source)) ?? [];
      return base64 === undefined ? textOf(item) : { type: "image", data: base64, mimeType: type };
    }
    case "file":
      return data === undefined ? textOf(item) : { type: "resource", resource: { uri: "", blob: data, mimeType } };
    default:
      return textOf(item);
  }
}

function textOf(value: unknown): JsonObject {
  return { type: "text", text: typeof value === "string" ? value : toBody(value) };
}

/** A plain copy of a value with everything JSON cannot hold replaced. `path` holds the objects it stands in. */
function storable(value: unknown, path: readonly object[]): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
    case "undefined":
      return value;
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "bigint":
    case "symbol":
      return String(value);
    case "function":
      return "[function]";
    case "object":
      if (value === null) return null;
      if (path.includes(value)) return "[circular]";
      if (path.length >= MAX_DEPTH) return `[nested deeper than ${MAX_DEPTH}]`; // body-2
      try {
        return storableObject(value, [...path, value]);
      } catch {
        return "[unreadable]"; // body-1: a getter or toJSON that throws
      }
  }
}

function storableObject(value: object, path: readonly object[]): unknown {
  if (Array.isArray(value)) return Array.from(value, (item) => storable(item, path) ?? null);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (value instanceof Map) return [...value].map((entry) => storable(entry, path));
  if (value instanceof Set) return [...value].map((item) => storable(item, path));
  if (value instanceof Error) return { name: value.name, message: value.message };
  if ("toJSON" in value && typeof value.toJSON === "function") return storable(value.toJSON(), path);
  const copy: JsonObject = {};
  for (const key of Object.keys(value)) {
    const kept = storable((value as JsonObject)[key], path);
    // Assigning `__proto__` would set the prototype instead of a key.
    Object.defineProperty(copy, key, { value: kept, enumerable: true, configurable: true, writable: true });
  }
  return copy;
}

function isDeep(value: unknown): boolean {
  const pending: [unknown, number][] = [[value, 0]];
  while (pending.length > 0) {
    const [item, depth] = pending.pop() as [unknown, number];
    if (typeof item !== "object" || item === null) continue;
    if (depth >= MAX_DEPTH) return true;
    for (const inner of Object.values(item)) pending.push([inner, depth + 1]);
  }
  return false;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
