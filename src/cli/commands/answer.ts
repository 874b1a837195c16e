// `toolgate approve`, `reject`, `edit` and `resolve`: the answer is stored, then its thread goes on.
//
// The answer is in the ledger before the thread runs, so a failure afterwards loses nothing. A thread whose batch has more
// open questions stops at them again, with exit code 3.

import { ToolgateError } from "../../contracts/index.js";
import type { PersonAnswer } from "../../index.js";
import { failureOf, UsageError } from "../error-report.js";
import type { CommandResult, Context } from "../io.js";
import { readArguments } from "../json-line.js";
import { checkNote } from "../note.js";
import { type Opened, withToolgate } from "../open-agent.js";
import { redacted } from "../redacted.js";
import { standingOf, takeTurn, withFailure } from "../turn.js";
import { turnOutcome } from "./reported.js";

export function approve(context: Context, approvalId: string): Promise<CommandResult> {
  return answer(context, approvalId, { type: "approve" });
}

export function reject(context: Context, approvalId: string, reason: string | undefined): Promise<CommandResult> {
  return answer(context, approvalId, { type: "reject", ...(reason === undefined ? {} : { message: reason }) });
}

/** Throws `UsageError` when `json` is no JSON object. */
export async function edit(context: Context, approvalId: string, json: string): Promise<CommandResult> {
  const args = readArguments(json);
  if ("problem" in args)
    throw new UsageError(`--args is not taken: ${args.problem}`, "give one JSON object, quoted for the shell");
  return answer(context, approvalId, { type: "edit", arguments: args.value });
}

export interface ResolveOptions {
  readonly happened?: boolean;
  readonly didNotHappen?: boolean;
  readonly leave?: boolean;
  readonly note?: string;
}

export async function resolveUnknown(
  context: Context,
  operationId: string,
  options: ResolveOptions,
): Promise<CommandResult> {
  const { note } = options;
  const given = [
    ...(options.happened ? (["happened"] as const) : []),
    ...(options.didNotHappen ? (["did_not_happen"] as const) : []),
    ...(options.leave ? (["leave"] as const) : []),
  ];
  const [type] = given;
  if (type === undefined || given.length > 1)
    throw new UsageError("say what became of it, once", "give one of --happened, --did-not-happen and --leave");
  checkNote(note);
  return settle(context, (opened) =>
    opened.toolgate.ledger.resolve(operationId, type, {
      by: context.io.user,
      ...(note === undefined ? {} : { note }),
    }),
  );
}

function answer(context: Context, approvalId: string, person: PersonAnswer): Promise<CommandResult> {
  return settle(context, (opened) => opened.toolgate.ledger.answer(approvalId, person, { approver: context.io.user }));
}

function settle(context: Context, store: (opened: Opened) => Promise<{ threadId: string }>): Promise<CommandResult> {
  return withToolgate(context, { seals: true }, async (opened) => {
    let threadId: string;
    try {
      ({ threadId } = await store(opened));
    } catch (cause) {
      const known = cause instanceof ToolgateError ? cause.data["threadId"] : undefined;
      if (typeof known !== "string") throw cause;
      const turn = await standingOf(opened, known); // the report says where the thread stands, beside the error
      const shown = redacted(cause, opened.toolgate.host.redact);
      return turnOutcome(context, { report: withFailure(turn.report, failureOf(shown)), cause: shown });
    }
    return turnOutcome(context, await takeTurn(opened, threadId));
  });
}
