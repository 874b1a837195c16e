// Content blocks: turns a server's result into LangChain's standard blocks, and into text that can be read page by page.
//
// Nothing is dropped: content of a kind that cannot be shown is named. Every string in a block is cleaned, and base64 data that
// is not valid is not passed on as data. No address that a server chose becomes something that a provider would fetch.

import { oneLine } from "../contracts/index.js";
import type { ResultBody } from "./body.js";
import { byteLength, cleanText } from "./clean-text.js";

/** The standard content blocks a result can become. */
export type Block =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image" | "audio"; readonly mimeType: string; readonly data: string }
  | {
      readonly type: "file";
      readonly mimeType: string;
      readonly data: string;
      readonly metadata: { readonly filename: string };
    };

type Fields = Readonly<Record<string, unknown>>;

/** The content, followed by the structured content unless a text block repeats it. */
export function toBlocks(result: ResultBody): Block[] {
  const found = result.content.map(toBlock);
  const { structuredContent } = result;
  if (structuredContent === undefined || structuredContent === null) return found;
  if (found.some((block) => block.type === "text" && repeats(block.text, structuredContent))) return found;
  return [...found, { type: "text", text: cleanText(JSON.stringify(structuredContent)) }];
}

/** A result as text: text as it is, everything else named with its size. */
export function toText(result: ResultBody): string {
  return toBlocks(result)
    .map((block) => (block.type === "text" ? block.text : describe(block)))
    .join("\n");
}

/** Names a block a model may not be able to see. */
export function describe(block: Exclude<Block, { type: "text" }>): string {
  const name = block.type === "file" && block.metadata.filename ? ` \`${block.metadata.filename}\`` : "";
  return `[${block.type}${name}, ${block.mimeType}, ${Buffer.from(block.data, "base64").length} bytes]`;
}

function toBlock(item: unknown): Block {
  const fields: Fields = typeof item === "object" && item !== null ? (item as Fields) : {};
  switch (fields.type) {
    case "text":
      return { type: "text", text: cleanText(string(fields.text)) };
    case "image":
    case "audio":
      return data(fields.type, fields.data, fields.mimeType, "");
    case "resource_link":
      return { type: "text", text: link(fields) }; // named as text: a provider would fetch an address
    case "resource":
      return resource(
        typeof fields.resource === "object" && fields.resource !== null ? (fields.resource as Fields) : {},
      );
    default:
      return { type: "text", text: `[content of a kind that is not shown: ${named(fields.type)}]` };
  }
}

function resource(fields: Fields): Block {
  const uri = line(fields.uri);
  if (typeof fields.text === "string") {
    return { type: "text", text: `[resource ${uri || "without address"}]\n${cleanText(fields.text)}` };
  }
  const mimeType = line(fields.mimeType);
  const kind = /^(image|audio)\//.exec(mimeType)?.[1] as "image" | "audio" | undefined;
  return data(kind ?? "file", fields.blob, mimeType || "application/octet-stream", uri.split("/").at(-1) ?? "");
}

function data(type: "image" | "audio" | "file", base64: unknown, mime: unknown, filename: string): Block {
  const mimeType = line(mime) || "application/octet-stream";
  if (typeof base64 !== "string" || !isBase64(base64)) {
    const size = typeof base64 === "string" ? `${byteLength(base64)} bytes` : "no data";
    return { type: "text", text: `[${type}, ${mimeType}: not base64, ${size}]` };
  }
  return type === "file" ? { type, mimeType, data: base64, metadata: { filename } } : { type, mimeType, data: base64 };
}

function link(fields: Fields): string {
  const details = [line(fields.title) || line(fields.name), line(fields.mimeType), line(fields.description)];
  const about = details.filter((detail) => detail !== "").join(", ");
  return `[resource link ${line(fields.uri) || "without address"}${about ? `: ${about}` : ""}]`;
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

/** Whether text is the JSON of the data, or of the one value in `{ result: value }`. */
function repeats(text: string, structured: unknown): boolean {
  const compact = compactJson(text);
  if (compact === undefined) return typeof structured === "object" && wrapped(structured) === JSON.stringify(text);
  return compact === compactJson(JSON.stringify(structured)) || compact === wrapped(structured);
}

function wrapped(structured: unknown): string | undefined {
  if (typeof structured !== "object" || structured === null || Object.keys(structured).join() !== "result")
    return undefined;
  return compactJson(JSON.stringify((structured as Fields).result));
}

/** JSON with sorted keys, or undefined when text is no JSON. */
function compactJson(text: string | undefined): string | undefined {
  try {
    return JSON.stringify(sorted(JSON.parse(text ?? "")));
  } catch {
    return undefined;
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => [key, sorted(item)]);
}

function named(kind: unknown): string {
  return typeof kind === "string" ? `\`${oneLine(cleanText(kind), 64)}\`` : "without a type";
}

function line(value: unknown): string {
  return oneLine(cleanText(string(value)), 500);
}

function string(value: unknown): string {
  return typeof value === "string" ? value : "";
}
