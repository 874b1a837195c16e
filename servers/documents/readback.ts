// Read-back (`get_operation`): tells what became of a save, from its journal and, where that does not say, from the file.
//
//   documents-readback-1. An id that was never used is fenced by asking, so that "not carried out" stays true.
//   documents-readback-2. Yes is said once name and content are on disk, and both final answers are written down where
//                         that works, so that what happens to the file later does not change them.
//
// A save that has not ended and whose process runs is not over. A save that broke off is judged by what stands under its
// name. The whole content in a file that it made means yes. No file, where it made none, means no. A file that it did not
// make means no. Anything else is left to people.

import { type Answer, ok } from "./answer.js";
import type { Folder } from "./folder.js";
import { codeOf, type Io } from "./io.js";
import type { Begun, Journal, JournalRecord } from "./journal.js";
import { type Life, lives } from "./life.js";
import type { Operations } from "./operations.js";
import { sha256Of } from "./read.js";
import { described, isForeign } from "./standing.js";

export interface ReadbackDeps {
  readonly reports: Folder;
  readonly operations: Operations;
  readonly life: Life;
  readonly io: Io;
}

interface Finding {
  readonly carriedOut: boolean | null;
  readonly final: boolean;
  readonly detail: string;
  readonly begun?: Begun;
}

const yes = (detail: string, begun: Begun): Finding => ({ carriedOut: true, final: true, detail, begun });
const no = (detail: string, begun?: Begun): Finding => ({
  carriedOut: false,
  final: true,
  detail,
  ...(begun === undefined ? {} : { begun }),
});
const open = (detail: string, begun?: Begun): Finding => ({ ...no(detail, begun), carriedOut: null, final: false });

const gone = (begun: Begun): Finding =>
  open(`its file \`${begun.filename}\` was made, and was not there any more when it was looked for`, begun);

export function getOperation(id: string, deps: ReadbackDeps): Answer {
  const { carriedOut, final, detail, begun } = find(id, deps);
  const what = begun === undefined ? {} : { filename: begun.filename, bytes: begun.bytes, sha256: begun.sha256 };
  return ok(detail, { operation_id: id, carried_out: carriedOut, final, ...what, detail });
}

function find(id: string, deps: ReadbackDeps): Finding {
  const { operations } = deps;
  try {
    let journal = operations.look(id);
    if (journal === undefined || journal.kind === "blank") {
      if (!operations.fence(id))
        return open("not begun, but too many ids are closed already for this one to be closed");
      journal = operations.look(id); // a save may have come first
    }
    if (journal?.kind === "begun") return judge(id, journal, deps);
    if (journal?.kind === "fenced") return no("not carried out: it was never begun, and the id is closed now"); // documents-readback-1
    return open("the journal cannot be told");
  } catch (error) {
    return open(`the journal cannot be used: ${codeOf(error)}`);
  }
}

function judge(id: string, journal: Journal & { kind: "begun" }, deps: ReadbackDeps): Finding {
  const { begun, created, ended, outcome } = journal;
  const { filename } = begun;
  switch (outcome) {
    case "saved":
      return yes(`carried out: \`${filename}\` was saved`, begun);
    case "refused":
      return no(`not carried out: saving \`${filename}\` was refused`, begun);
    case "found":
      return yes(`carried out: \`${filename}\` was found with the whole content`, begun);
    case "not_found":
      return no(`not carried out: saving \`${filename}\` broke off, and no file of its own was found`, begun);
    case "gone":
      return gone(begun);
    case undefined:
      return !ended && isRunning(begun, deps.life)
        ? open(`begun and not over: process ${begun.pid} is still at it`, begun)
        : looked(id, begun, created, deps);
  }
}

/** Our own saves are over when we are asked; only their last line may be missing. */
function isRunning(begun: Begun, own: Life): boolean {
  return !(begun.pid === own.pid && begun.started === own.started) && lives(begun);
}

/** What stands under the name of a save that broke off says what became of it. */
function looked(id: string, begun: Begun, created: boolean, deps: ReadbackDeps): Finding {
  const { reports, operations, io } = deps;
  const { filename, bytes, sha256 } = begun;
  const found = reports.read(filename, bytes);
  if (found.kind === "absent" && created) {
    settle(operations, id, { gone: true });
    return gone(begun);
  }
  if (found.kind === "absent") {
    settle(operations, id, { settled: { carriedOut: false } });
    return no(`not carried out: it broke off, and there is no \`${filename}\``, begun);
  }
  if (!created && isForeign(found)) {
    settle(operations, id, { settled: { carriedOut: false } });
    return no(
      `not carried out: it broke off before it made a file; the \`${filename}\` that stands there is another's`,
      begun,
    );
  }
  if (found.kind !== "file" || sha256Of(found.bytes) !== sha256)
    return open(`it broke off, and \`${filename}\` is not what was to be saved: ${described(found)}`, begun);
  try {
    keep(reports, filename, io);
  } catch (error) {
    return open(
      `\`${filename}\` has the whole content, but it cannot be made sure that it stays: ${codeOf(error)}`,
      begun,
    );
  }
  settle(operations, id, { settled: { carriedOut: true } });
  return yes(`carried out: \`${filename}\` has the whole content`, begun);
}

/** The process that wrote it may have been killed before it could. (documents-readback-2) */
function keep(reports: Folder, filename: string, io: Io): void {
  const fd = reports.append(filename);
  try {
    io.fsync(fd);
  } finally {
    io.close(fd);
  }
  reports.sync();
}

/** (documents-readback-2) */
function settle(operations: Operations, id: string, record: JournalRecord): void {
  try {
    operations.note(id, record);
  } catch {}
}
