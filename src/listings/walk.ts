// Walk: reads a server's whole list over one connection, within one time limit.
//
//   listing-4. Pages between which the server said that its list has changed are not put together: they are walked again,
//              until the server says nothing or lists the same twice.
//   listing-6. A listing has one deadline for everything: the connection, each page, and pages that are walked again.

import { isDeepStrictEqual } from "node:util";
import type { CatalogLimits } from "../contracts/index.js";
import type { ServerConnection, Servers } from "../contracts/mcp-port.js";
import { listServer, type Page } from "./pages.js";

/** How often the pages of a server are walked where it changes them meanwhile. */
export const WALKS = 3;
export const CHANGES = `its list changed ${WALKS} times while it was read`;

export interface WalkDeps {
  readonly servers: Pick<Servers, "generation">;
  readonly limits: CatalogLimits;
  /** Milliseconds that never go back. */
  readonly steady: () => number;
}

export interface ListTime {
  /** When the listing must have ended, on the steady clock. */
  readonly until: number;
  readonly withinMs: number;
}

/** Walks the pages of a server, anew where it says in between that they have changed. (listing-4) */
export async function walk(
  { servers, limits, steady }: WalkDeps,
  connection: ServerConnection,
  { until, withinMs }: ListTime,
  begin: () => number,
) {
  const over = { ok: false, problem: `its list was not complete within ${withinMs} ms` } as const;
  const source = async (cursor: string | undefined): Promise<Page> => {
    const leftMs = Math.ceil(until - steady()); // listing-6
    if (leftMs <= 0) return over;
    const page = await connection.listPage(cursor, leftMs, limits.pageBytes);
    return !page.ok && steady() >= until ? over : page;
  };
  let before: readonly unknown[] | undefined;
  for (let walks = 1; ; walks++) {
    const generation = begin();
    const listed = await listServer(source, limits);
    const moved = !connection.closed && servers.generation(connection.name) !== generation;
    const settled = listed.ok && (listed.pages === 1 || isSame(listed.tools, before));
    if (!moved || settled) return { listed, generation };
    before = listed.ok ? listed.tools : undefined;
    if (walks === WALKS) return { listed: { ok: false, problem: CHANGES } as const, generation };
  }
}

/** Lists that are nested too deeply to be compared are not the same. */
function isSame(tools: readonly unknown[], before: readonly unknown[] | undefined): boolean {
  try {
    return isDeepStrictEqual(tools, before);
  } catch {
    return false;
  }
}
