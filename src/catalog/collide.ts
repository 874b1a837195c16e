// Collide: decides which tools may have the alias they ask for.
//
//   collide-1. No alias is ambiguous: when two tools ask for the same alias, both are withheld, whichever came first.

import { LOCAL, oneLine, type ToolEntry, type WithheldTool } from "../contracts/index.js";
import type { Assessed } from "./assess.js";
import { compare } from "./order.js";

/** Withholds every tool whose alias another tool asks for as well. A tool that is withheld already still counts. (collide-1) */
export function settleAliases(
  assessed: readonly Assessed[],
  locals: readonly ToolEntry[],
): { tools: ToolEntry[]; withheld: WithheldTool[] } {
  const claims = new Map<string, { server: string; tool: string }[]>();
  for (const { alias } of locals) claims.set(alias, [{ server: LOCAL, tool: alias }]);
  for (const { server, claims: made } of assessed)
    for (const { alias, tool } of made)
      claims.set(alias, [...(claims.get(alias) ?? []), { server: server.name, tool }]);

  const tools: ToolEntry[] = [];
  const withheld = assessed.flatMap((one) => one.withheld);
  for (const entry of assessed.flatMap((one) => one.entries)) {
    const rivals = (claims.get(entry.alias) ?? []).filter(
      (claim) => claim.server !== entry.server || claim.tool !== entry.tool,
    );
    const reason = clash(entry, rivals, claims.get(entry.alias)?.length ?? 0);
    if (reason === undefined) tools.push(entry);
    else withheld.push({ server: entry.server, tool: oneLine(entry.tool, 128), reason });
  }
  tools.sort((a, b) => compare(a.server, b.server) || compare(a.tool, b.tool)); // assemble-1
  return { tools, withheld: inOrder(withheld) };
}

function clash(
  entry: ToolEntry,
  rivals: readonly { server: string; tool: string }[],
  claims: number,
): string | undefined {
  const [rival] = rivals.toSorted((a, b) => compare(a.server, b.server) || compare(a.tool, b.tool));
  if (rival !== undefined) {
    const whose = rival.server === entry.server ? "" : ` of \`${oneLine(rival.server, 60)}\``;
    return `its alias \`${entry.alias}\` is that of \`${oneLine(rival.tool, 80)}\`${whose} too`;
  }
  return claims > 1 ? "the server lists it more than once" : undefined;
}

/** Sorts the rows and keeps equal ones once, because what is withheld is part of the snapshot's id. (assemble-1) */
export function inOrder(withheld: readonly WithheldTool[]): WithheldTool[] {
  const rows = withheld.toSorted(
    (a, b) => compare(a.server, b.server) || compare(a.tool, b.tool) || compare(a.reason, b.reason),
  );
  return rows.filter((row, index) => {
    const before = rows[index - 1];
    return before?.server !== row.server || before.tool !== row.tool || before.reason !== row.reason;
  });
}
