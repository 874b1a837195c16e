// Offered: which tools of a server are offered, by the server's own `show` and `hide`.
//
// It is pure and never throws.
//
//   offered-1. Without `show` every tool is offered; with it only those that it matches. What `hide` matches is not offered,
//              whatever `show` says.
//   offered-2. `show` lets in: a glob of it must cover the tool's own name and its mapped name, so that a name which nobody sees
//              cannot let a tool in. `hide` keeps out: it is enough that it covers one name of the tool, its alias among them.
//   offered-3. What is not offered cannot be called either, whatever rules, answers and older snapshots say.

import { aliasOf, LOCAL, mapName, oneLine, type ServerConfig, type WithheldTool } from "../contracts/index.js";
import { matches, nameGlob } from "./glob.js";
import type { Target } from "./pattern.js";
import type { Settings } from "./settings.js";

/** What a server's configuration says of the tools that are offered. */
export type OfferTerms = Pick<ServerConfig, "show" | "hide">;

/** How the reason begins, by which a hidden tool is told from one that is withheld for a fault. */
const HIDDEN = "hidden: ";

/** Whether a tool is left out because the host hides it. */
export function isHiding({ reason }: Pick<WithheldTool, "reason">): boolean {
  return reason.startsWith(HIDDEN);
}

/** Why a tool of a server is not offered; undefined for one that is. */
export function hiddenBy({ show, hide }: OfferTerms, server: string, tool: string): string | undefined {
  const hiding = hide?.find((text) => hides(text, server, tool));
  if (hiding !== undefined) return `${HIDDEN}\`hide\` of its server names \`${oneLine(hiding, 80)}\``; // offered-1
  if (show === undefined || show.some((text) => shows(text, server, tool))) return undefined;
  return `${HIDDEN}\`show\` of its server does not name it`; // offered-1
}

/** The same by compiled settings. The host's own tools are always offered. */
export function isHidden({ servers }: Settings, { server, tool }: Omit<Target, "alias">): string | undefined {
  const terms = server === LOCAL ? undefined : servers.get(server);
  return terms === undefined ? undefined : hiddenBy(terms, server, tool);
}

/** Entries of `show` and `hide` that match none of the tools that their server lists. */
export function idleEntries({ show = [], hide = [] }: OfferTerms, server: string, tools: readonly string[]) {
  return [
    ...show.filter((text) => !tools.some((tool) => shows(text, server, tool))).map((text) => ({ key: "show", text })),
    ...hide.filter((text) => !tools.some((tool) => hides(text, server, tool))).map((text) => ({ key: "hide", text })),
  ];
}

/** A text without `*` names one tool by any of its names; a glob must cover both forms of it. (offered-2) */
function shows(text: string, server: string, tool: string): boolean {
  if (!text.includes("*")) return namesOf(server, tool).includes(text);
  const glob = nameGlob(text);
  return [tool, mapName(tool)].every((name) => matches(glob, name));
}

function hides(text: string, server: string, tool: string): boolean {
  const glob = nameGlob(text);
  return namesOf(server, tool).some((name) => matches(glob, name));
}

/** A tool's own name and its mapped one, and what rules call it. */
function namesOf(server: string, tool: string): string[] {
  const own = [tool, mapName(tool)];
  const full = [server, mapName(server)].flatMap((left) => own.map((right) => `mcp__${left}__${right}`));
  return [...own, ...full, aliasOf(server, tool)];
}
