// Turns the report of a turn into what `run`, `approve`, `reject`, `edit` and `resolve` print.

import { tellFailure } from "../error-report.js";
import { exitCodeOf } from "../exit.js";
import { type CommandResult, type Context, commandLine } from "../io.js";
import { type ShowOptions, showReport } from "../layout.js";
import { styleOf } from "../style.js";
import type { Turn } from "../turn.js";
import { fitted } from "../wrap.js";

/** The outcome of a turn. Its failure, if any, is reported on stderr; the report goes to stdout. */
export function turnOutcome(context: Context, { report, cause }: Turn): CommandResult {
  if (report.error !== undefined) tellFailure(context, report.error, cause);
  return { value: report, text: showReport(report, showOptions(context)), exitCode: exitCodeOf(report.status) };
}

export function showOptions(context: Context): ShowOptions {
  return {
    style: styleOf(context.io.stdout, context.io.env),
    command: (...args) => commandLine(context, ...args),
    fitted: (text) => fitted(context.io.stdout, text),
  };
}
