// Discover: reads the pages of one server's `tools/list` and returns the complete list, or the reason why there is none.
//
// It is pure but for the port it is given. It has no clock: the port sets the deadline of each page.
//
//   pages-1. A list is complete or it fails: one page that fails, one bound that is exceeded or one cursor that was seen
//            before fails the whole listing.
//   pages-2. An empty string is a cursor like any other. Only an absent cursor or null ends the list.

import { type CatalogLimits, oneLine } from "../contracts/index.js";

/** One page as the server sent it. The same shape as `ListPage` of the MCP port. */
export type Page =
  | { readonly ok: true; readonly tools: readonly unknown[]; readonly nextCursor?: unknown; readonly bytes: number }
  | { readonly ok: false; readonly problem: string };

/** Fetches a page; undefined asks for the first. **Contract:** may reject; then the page has failed. */
export type PageSource = (cursor: string | undefined) => Promise<Page>;

/** A tool as its server sent it. Nothing of it has been checked. */
export type RawTool = unknown;

export type Listing =
  | { readonly ok: true; readonly tools: readonly RawTool[]; readonly pages: number }
  | { readonly ok: false; readonly problem: string };

type ListLimits = Pick<CatalogLimits, "pages" | "tools" | "pageBytes" | "cursorChars">;

/** Walks a server's list to its end. Never rejects. */
export async function listServer(source: PageSource, limits: ListLimits): Promise<Listing> {
  const tools: RawTool[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let pages = 1; pages <= limits.pages; pages++) {
    const page = await pageOf(source, cursor);
    if (!page.ok) return failed(`page ${pages} failed: ${page.problem}`); // pages-1
    if (page.bytes > limits.pageBytes) return failed(`page ${pages} has more than ${limits.pageBytes} bytes`);
    if (!Array.isArray(page.tools)) return failed(`page ${pages} has no list of tools`);
    for (const tool of page.tools) tools.push(tool);
    if (tools.length > limits.tools) return failed(`the server lists more than ${limits.tools} tools`);
    const next: unknown = page.nextCursor;
    if (next === undefined || next === null) return { ok: true, tools, pages }; // pages-2
    if (typeof next !== "string") return failed(`page ${pages} has a cursor that is no string`);
    if (next.length > limits.cursorChars)
      return failed(`page ${pages} has a cursor of more than ${limits.cursorChars} characters`);
    if (seen.has(next)) return failed(`page ${pages} has a cursor that was used before: the list would never end`);
    seen.add(next);
    cursor = next;
  }
  return failed(`the list goes on after ${limits.pages} pages`);
}

async function pageOf(source: PageSource, cursor: string | undefined): Promise<Page> {
  try {
    return await source(cursor);
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : String(error) };
  }
}

function failed(problem: string): Listing {
  return { ok: false, problem: oneLine(problem) };
}
