// search_documents: a document's first match, in the order of names, until a bound stops it.

import { type Answer, ok } from "./answer.js";
import type { SearchArguments } from "./arguments.js";
import { BOUNDS, FILENAME } from "./contracts.js";
import type { Folder } from "./folder.js";
import { utf8 } from "./read.js";

interface Hit {
  readonly filename: string;
  /** From 1. */
  readonly line: number;
  readonly excerpt: string;
}

export function searchDocuments({ query, max_results }: SearchArguments, sources: Folder): Answer {
  const names = sources.names();
  const looked = names.slice(0, BOUNDS.entries);
  const hits: Hit[] = [];
  let examined = 0;
  let skipped = 0;
  for (const filename of looked) {
    if (hits.length === max_results) break;
    const text = documentText(sources, filename);
    if (text === undefined) {
      skipped += 1;
      continue;
    }
    examined += 1;
    const at = text.indexOf(query);
    if (at >= 0) hits.push({ filename, line: text.slice(0, at).split("\n").length, excerpt: excerpt(text, at) });
  }
  const truncated = examined + skipped < names.length;
  const data = { hits, examined, skipped, truncated };
  const message = `${counted(hits.length, "hit")} in ${counted(examined, "document")}${truncated ? ", search stopped at a bound" : ""}`;
  return ok(message, data, [message, ...hits.map(shown)].join("\n\n"));
}

function documentText(sources: Folder, filename: string): string | undefined {
  if (!FILENAME.test(filename)) return undefined;
  const found = sources.read(filename, BOUNDS.documentBytes);
  return found.kind === "file" ? utf8(found.bytes) : undefined;
}

/** Whole characters around a match, which starts at a whole character itself. */
function excerpt(text: string, at: number): string {
  const { before, after } = BOUNDS; // in characters of one or two code units each
  const ahead = [...text.slice(Math.max(0, at - 2 * before), at)].slice(-before);
  const behind = [...text.slice(at, at + 2 * after)].slice(0, after);
  return [...ahead, ...behind].join("");
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;
const shown = ({ filename, line, excerpt }: Hit): string => `${filename}, line ${line}:\n${excerpt}`;
