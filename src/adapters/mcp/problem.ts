// Words for what went wrong with a server: one line, bounded, without secrets and without this machine's folders (S5).

import { oneLine } from "../../contracts/index.js";

/** Something a person can act on; its message is shown as it is, after redaction. */
export class ServerProblem extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ServerProblem";
  }
}

export type Say = (text: string) => string;

/** Makes text fit to be shown. Folders become `.`: where a host is deployed is nobody's business. */
export function createSay(redact: (text: string) => string, folders: readonly string[]): Say {
  const known = [...new Set(folders)].filter((folder) => folder.length > 1).sort((a, b) => b.length - a.length);
  return (text) => {
    let shown = redact(text);
    for (const folder of known) shown = shown.replaceAll(folder, ".");
    return oneLine(shown);
  };
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
