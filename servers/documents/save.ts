// Save (`save_report`): writes a report under a grant. Each step is recorded in the journal before the next one begins.
//
// The arguments are checked first, then the grant; then the journal is made, then the file. So a call that is refused
// leaves nothing behind. From the journal on everything is synchronous, so that nothing else of this process comes in
// between. When anything fails after the file was made, the answer is `result_unknown`, and the file is left as it is.
// The answer `ok` means that name and content are on disk.

import { type Answer, failed, ok, rejected, unknown } from "./answer.js";
import type { SaveArguments } from "./arguments.js";
import type { Status } from "./contracts.js";
import type { Folder } from "./folder.js";
import { argumentsDigest, type GrantTerms, verifyGrant } from "./grant.js";
import { codeOf, type Io, writeAll } from "./io.js";
import type { Begun } from "./journal.js";
import type { Life } from "./life.js";
import type { Begin, Operations } from "./operations.js";
import { sha256Of } from "./read.js";

export interface SaveDeps {
  readonly reports: Folder;
  readonly operations: Operations;
  readonly terms: GrantTerms;
  readonly life: Life;
  readonly io: Io;
  readonly now: () => number;
}

/** `effect` is called once the report's file is there. */
export async function saveReport(args: SaveArguments, deps: SaveDeps, effect: () => void): Promise<Answer> {
  const { filename, content, approval_token, operation_id } = args;
  const digest = argumentsDigest(filename, content);
  const asked = { tool: "save_report", argumentsDigest: digest, operationId: operation_id };
  const verdict = await verifyGrant(approval_token, deps.terms, asked, deps.now);
  if (!verdict.ok) return rejected(verdict.refusal, "; nothing was saved");
  return carryOut(verdict.operationId, filename, Buffer.from(content), deps, effect);
}

function carryOut(id: string, filename: string, bytes: Buffer, deps: SaveDeps, effect: () => void): Answer {
  const begun: Begun = { filename, bytes: bytes.length, sha256: sha256Of(bytes), ...deps.life };
  let begin: Begin | "used" | "fenced";
  try {
    begin = deps.operations.begin(id, begun);
  } catch (error) {
    return failed(`\`${filename}\` was not saved: the journal could not be written (${codeOf(error)})`);
  }
  switch (begin) {
    case "used":
      return rejected({ field: "approval_token", rule: "was already used" }, "; nothing was saved now");
    case "fenced":
      return rejected({ field: "approval_token", rule: "is for an operation that was closed" }, "; nothing was saved");
  }
  const journal = begin;
  try {
    const answer = write(id, begun, bytes, deps, journal, effect);
    end(journal, answer.status);
    return answer;
  } finally {
    journal.close();
  }
}

function write(id: string, begun: Begun, bytes: Buffer, deps: SaveDeps, journal: Begin, effect: () => void): Answer {
  const { reports, io } = deps;
  const { filename, sha256 } = begun;
  let fd: number;
  try {
    fd = reports.create(filename);
  } catch (error) {
    return notCreated(filename, reports, codeOf(error));
  }
  try {
    effect();
    journal.note({ created: true });
    writeAll(io, fd, bytes);
    io.fsync(fd);
    reports.sync();
  } catch (error) {
    return unknown(`whether \`${filename}\` is saved is not known: its file was made, then came ${codeOf(error)}`);
  } finally {
    io.close(fd);
  }
  const data = { filename, bytes: bytes.length, sha256, operation_id: id };
  return ok(`saved \`${filename}\`, ${bytes.length} bytes`, data);
}

function notCreated(filename: string, reports: Folder, code: string): Answer {
  if (code === "EEXIST") {
    const rule = "must name a report that does not exist yet";
    return rejected(
      { field: "filename", rule },
      `; \`${filename}\` is there, it was not changed, and the grant is used up`,
    );
  }
  // An error that the disk reports late may have left a file.
  if (reports.read(filename, 0).kind === "absent") return failed(`\`${filename}\` was not saved: ${code}`);
  return unknown(`whether \`${filename}\` is saved is not known: making its file failed with ${code}`);
}

/** Without this line a read-back looks at the file itself, so a failure here changes no answer. */
function end(journal: Begin, status: Status): void {
  try {
    journal.note({ ended: { status } });
  } catch {}
}
