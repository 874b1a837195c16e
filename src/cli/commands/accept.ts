// `toolgate accept`: a person takes what another hand changed as it stands. No server is started and no model is asked.

import { UsageError } from "../error-report.js";
import { EXIT } from "../exit.js";
import type { CommandResult, Context } from "../io.js";
import { showUnknowns } from "../layout.js";
import { checkNote } from "../note.js";
import { withRecords } from "../open-records.js";
import { showOptions } from "./reported.js";

export interface AcceptOptions {
  readonly note?: string;
  readonly restored?: boolean;
}

/** `toolgate accept`: a person takes a changed thread, or a store that was set back, as it is. It does not go on by that. */
export function accept(context: Context, threadId: string | undefined, options: AcceptOptions): Promise<CommandResult> {
  const { note, restored = false } = options;
  if ((threadId === undefined) !== restored)
    throw new UsageError("say what is accepted: one thread, or --restored", "give a thread's id, or --restored alone");
  if (note === undefined || note.trim() === "")
    throw new UsageError("--note is missing", "say how you know what was sent, for whoever reads the record");
  checkNote(note);
  const said = { by: context.io.user, note };
  return withRecords(context, async (records) => {
    const accepted = threadId === undefined ? await records.acceptRestored(said) : await records.accept(threadId, said);
    const { unknowns } = accepted;
    const open = unknowns.map((item) => ({ threadId: threadId ?? "", ...item }));
    const none = "It is sealed anew; nothing of it is in doubt.";
    return {
      value: accepted,
      text: open.length === 0 ? none : showUnknowns(open, showOptions(context)),
      exitCode: open.length === 0 ? EXIT.done : EXIT.result_unknown,
    };
  });
}
