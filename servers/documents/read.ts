// read_document: one document, byte for byte.

import { createHash } from "node:crypto";
import { type Answer, failed, ok, rejected } from "./answer.js";
import { BOUNDS } from "./contracts.js";
import type { Folder, Found } from "./folder.js";

export function readDocument(filename: string, sources: Folder): Answer {
  const found = sources.read(filename, BOUNDS.documentBytes);
  if (found.kind !== "file") return notRead(filename, found);
  const text = utf8(found.bytes);
  if (text === undefined) return rejected({ field: "filename", rule: "must name a document in valid UTF-8" });
  const bytes = found.bytes.length;
  const sha256 = sha256Of(found.bytes);
  // The text stands once in the answer: a whole document has to fit into what a host accepts.
  return ok(`\`${filename}\`, ${bytes} bytes`, { filename, bytes, sha256 }, text);
}

function notRead(filename: string, found: Exclude<Found, { kind: "file" }>): Answer {
  const refuse = (rule: string): Answer => rejected({ field: "filename", rule });
  switch (found.kind) {
    case "absent":
      return failed(`there is no document \`${filename}\``);
    case "unreadable":
      return failed(`the document \`${filename}\` cannot be read: ${found.code}`);
    case "too_large":
      return refuse(`must name a document of at most ${BOUNDS.documentBytes} bytes`);
    case "link":
    case "not_regular":
      return refuse("must name a regular file");
    case "several_names":
      return refuse("must name a file that has no other name");
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text, a byte order mark included; undefined for what is not UTF-8. */
export function utf8(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

export const sha256Of = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
