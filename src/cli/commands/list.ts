// `toolgate approvals`, `unknowns` and `threads`: what the ledger holds. No server is started and no model is asked, and
// neither is loaded.

import { oneLine } from "../../contracts/index.js";
import { EXIT } from "../exit.js";
import type { CommandResult, Context } from "../io.js";
import { showApprovals, showUnknowns, table } from "../layout.js";
import { withRecords } from "../open-records.js";
import { showOptions } from "./reported.js";

export function approvals(context: Context): Promise<CommandResult> {
  return withRecords(context, async (records) => {
    const open = await records.requests();
    return { value: { approvals: open }, text: showApprovals(open, showOptions(context)), exitCode: EXIT.done };
  });
}

export function listUnknowns(context: Context): Promise<CommandResult> {
  return withRecords(context, async (records) => {
    const open = await records.unknowns();
    return { value: { unknowns: open }, text: showUnknowns(open, showOptions(context)), exitCode: EXIT.done };
  });
}

export function threads(context: Context): Promise<CommandResult> {
  return withRecords(context, async (records) => {
    const known = await records.threads();
    const rows = known.map(({ threadId, status }) => [oneLine(threadId), status]);
    return {
      value: { threads: known },
      text: rows.length === 0 ? "There are no threads yet." : table(rows),
      exitCode: EXIT.done,
    };
  });
}
