// `toolgate approvals`, `unknowns` and `threads`: what the ledger holds. No server is started and no model is asked.

import { oneLine } from "../../contracts/index.js";
import { EXIT } from "../exit.js";
import type { Context, Outcome } from "../io.js";
import { withToolgate } from "../open.js";
import { showApprovals, showUnknowns, table } from "../show.js";
import { showOptions } from "./report.js";

export function approvals(context: Context): Promise<Outcome> {
  return withToolgate(context, { seals: true }, async ({ toolgate }) => {
    const open = await toolgate.ledger.requests();
    return { value: { approvals: open }, text: showApprovals(open, showOptions(context)), exitCode: EXIT.done };
  });
}

export function unknowns(context: Context): Promise<Outcome> {
  return withToolgate(context, { seals: true }, async ({ toolgate }) => {
    const open = await toolgate.ledger.unknowns();
    return { value: { unknowns: open }, text: showUnknowns(open, showOptions(context)), exitCode: EXIT.done };
  });
}

export function threads(context: Context): Promise<Outcome> {
  return withToolgate(context, { seals: true }, async ({ toolgate }) => {
    const known = await toolgate.ledger.threads();
    const rows = known.map(({ threadId, status }) => [oneLine(threadId), status]);
    return {
      value: { threads: known },
      text: rows.length === 0 ? "There are no threads yet." : table(rows),
      exitCode: EXIT.done,
    };
  });
}
