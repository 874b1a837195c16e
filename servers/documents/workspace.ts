// The workspace: `sources` (read only), `reports` (new files only) and `.operations` (the journal) below a root that
// the operator names and trusts.
//
//   documents-folder-5. All of them are opened at the start and held until the end; one that is missing (`sources`), a
//                       link or no directory means that the server does not start.

import { resolve } from "node:path";
import { ensureWithin, type Folder, openFolder, openWithin } from "./folder.js";
import { codeOf, type Io } from "./io.js";

export interface Workspace {
  readonly sources: Folder;
  readonly reports: Folder;
  readonly operations: Folder;
  close(): void;
}

/** Opens the workspace; throws one sentence that says what is wrong. (documents-folder-5) */
export function openWorkspace(path: string, io: Io): Workspace {
  const open: Folder[] = [];
  const close = (): void => {
    for (const folder of open.splice(0).reverse()) folder.close();
  };
  function opened(name: string, open_: () => Folder): Folder {
    try {
      const folder = open_();
      open.push(folder);
      return folder;
    } catch (error) {
      close();
      throw new Error(`cannot open ${name}: ${reasonOf(codeOf(error))}`);
    }
  }
  const root = opened("the folder that DOCUMENTS_ROOT names", () => openFolder(resolve(path), io));
  const sources = opened("`sources`", () => openWithin(root, "sources", io));
  const made = (name: string): Folder =>
    opened(`\`${name}\``, () => {
      ensureWithin(root, name);
      return openWithin(root, name, io);
    });
  return { sources, reports: made("reports"), operations: made(".operations"), close };
}

function reasonOf(code: string): string {
  switch (code) {
    case "ENOENT":
      return "it does not exist";
    case "ENOTDIR":
    case "ELOOP":
      return "it is a link or no directory";
  }
  return code;
}
