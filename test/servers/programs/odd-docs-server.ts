// The tools of the docs service and everything that can be wrong with them; the env variables are described in odd-docs.ts.

import { setTimeout as delay } from "node:timers/promises";
import type { CallToolResult, ListToolsResult, Tool } from "@modelcontextprotocol/sdk/types.js";
import { docsAnswer, docsServer, searchDefinition } from "../../../servers/docs-server.js";
import { failure, type ServedTool, type ServedTools, text } from "../../../servers/sdk.js";

const modes = [
  "ok",
  "business-error",
  "slow",
  "bad-schema",
  "empty",
  "two-pages",
  "bad-second-page",
  "repeated-cursor",
  "many-pages",
  "duplicate",
  "nine-tools",
  "colliding",
  "image",
  "structured",
  "empty-result",
  "blank",
  "long",
] as const;
type Mode = (typeof modes)[number];

export function oddDocsServer(env: Readonly<Record<string, string | undefined>>): ServedTools {
  const mode = modes.find((known) => known === (env.DOCS_MODE ?? "ok"));
  if (mode === undefined) throw new Error(`DOCS_MODE is \`${env.DOCS_MODE}\`, expected one of ${modes.join(", ")}`);
  const delayMs = Number(env.DOCS_DELAY_MS ?? 1000);
  const answer = async (): Promise<CallToolResult> => {
    if (mode === "slow") await delay(delayMs);
    return resultIn(mode);
  };
  const pages = pagesIn(mode, Number(env.DOCS_PAGES ?? 5));
  return {
    ...docsServer(env),
    name: env.DOCS_NAME ?? "docs",
    tools: pages.flat().map((definition): ServedTool => ({ definition, run: answer })),
    page: (cursor) => pageAt(pages, cursor, mode),
  };
}

const searchTool = (name: string): Tool => ({ ...searchDefinition, name });

function pagesIn(mode: Mode, pageCount: number): Tool[][] {
  const search = searchDefinition;
  switch (mode) {
    case "empty":
      return [[]];
    case "bad-schema":
      return [[{ ...search, inputSchema: { type: "object", properties: { limit: { type: "number" } } } }]];
    case "two-pages":
      return [[search], [searchTool("list.topics")]];
    case "bad-second-page":
      return [[search], [searchTool("")]];
    case "duplicate":
      return [[search], [search]];
    case "many-pages":
      return Array.from({ length: pageCount }, (_, page) => [page === 0 ? search : searchTool(`topic.${page}`)]);
    case "nine-tools":
      return [[search, ...Array.from({ length: 8 }, (_, i) => searchTool(`topic.${i + 1}`))]];
    case "colliding":
      return [[search, searchTool("search_docs")]];
    case "repeated-cursor":
    case "ok":
    case "business-error":
    case "slow":
    case "image":
    case "structured":
    case "empty-result":
    case "blank":
    case "long":
      return [[search]];
  }
}

function pageAt(pages: readonly Tool[][], cursor: string | undefined, mode: Mode): ListToolsResult {
  if (mode === "repeated-cursor") return { tools: pages[0] ?? [], nextCursor: "again" };
  const at = cursor === undefined ? 0 : Number(cursor);
  const tools = pages[at] ?? [];
  return at + 1 < pages.length ? { tools, nextCursor: String(at + 1) } : { tools };
}

function resultIn(mode: Mode): CallToolResult {
  switch (mode) {
    case "business-error":
      return failure("The documentation is closed for maintenance.");
    case "image":
      return { content: [{ type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" }] };
    case "structured":
      return { ...text(docsAnswer), structuredContent: { rule: docsAnswer } };
    case "empty-result":
      return { content: [] };
    case "blank":
      return text("");
    case "long":
      return text("x".repeat(2_001));
    case "ok":
    case "slow":
    case "bad-schema":
    case "empty":
    case "two-pages":
    case "bad-second-page":
    case "repeated-cursor":
    case "many-pages":
    case "duplicate":
    case "nine-tools":
    case "colliding":
      return text(docsAnswer);
  }
}
