// Text that says what went wrong with a server: one bounded line, without secrets and without folders of this machine.

import { oneLine } from "../../contracts/index.js";

/** A problem that a person can act on. Its message is shown after redaction. */
export class ServerProblem extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ServerProblem";
  }
}

export type Scrub = (text: string) => string;

/** Makes text fit to be shown. Folders become `.`, so that the text does not tell where the host is deployed. */
export function createScrub(redact: (text: string) => string, folders: readonly string[]): Scrub {
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
