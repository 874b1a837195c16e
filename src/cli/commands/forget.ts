// `toolgate forget`: what a thread was about goes from every store. No server is started and no model is asked.

import { oneLine } from "../../contracts/index.js";
import { EXIT } from "../exit.js";
import type { CommandResult, Context } from "../io.js";
import { withToolgate } from "../open-agent.js";

export function forget(context: Context, threadId: string): Promise<CommandResult> {
  return withToolgate(context, { seals: true }, async ({ toolgate }) => {
    await toolgate.forget(threadId);
    const text = `Thread ${oneLine(threadId)} is forgotten; digests of its calls stay.`;
    return { value: { threadId, forgotten: true }, text, exitCode: EXIT.done };
  });
}
