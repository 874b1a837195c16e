// Saves that break: what the server answers, what then stands on disk, and what a fresh process tells of it. Real
// processes, errors and kills injected (programs/documents/faults.ts).

import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { RpcProcess } from "../../support/rpc.js";
import { ask, grant, newId, place, readBack, save, type Told } from "./place.js";

const { root, launch, start, faulty, reports, log } = place();
const report = { filename: "a.md", content: "0123456789".repeat(3) };
const begun = {
  filename: "a.md",
  bytes: 30,
  sha256: "276fadfc9edc49f5f9af96d97636731def7525d4bfa16bc07699534873a474cc",
};

/** Saves under a fault and says what came of it: the answer, or undefined where the process was killed. */
async function broken(fault: string, id: string): Promise<Told | undefined> {
  const server = await faulty(fault);
  try {
    return await save(server, report, id);
  } catch (error) {
    expect(await server.ended).toEqual({ code: null, signal: "SIGKILL" });
    expect(String(error)).toContain("the server ended without that message");
    return undefined;
  }
}

/** What a process tells, twice: a final answer stays. */
async function told(id: string, server: RpcProcess) {
  const first = await readBack(server, id);
  const second = await readBack(server, id);
  if (first.final) expect([second.carried_out, second.final]).toEqual([first.carried_out, true]);
  else expect(second).toEqual(first);
  return first;
}

const whole = { "a.md": report.content };
/** One fault of each kind at each place; with LONG_TESTS (`npm run test:long`) all of them. */
const SAMPLE = [
  "enospc-before-begin",
  "eio-after-create",
  "enospc-after-12-bytes",
  "fsync",
  "eio-before-directory",
  "eio-before-ended",
  "kill-after-take",
  "kill-after-begin",
  "kill-after-create",
  "kill-after-write",
  "kill-after-ended",
];
type Row = [string, string | undefined, string, Record<string, string>, boolean | null, string];
const FAULTS: Row[] = [
  // fault, status, message, reports after it, carried out, detail
  [
    "enospc-before-take",
    "failed",
    "`a.md` was not saved: the journal could not be written (ENOSPC)",
    {},
    false,
    "not carried out: it was never begun, and the id is closed now",
  ],
  [
    "enospc-before-begin",
    "failed",
    "`a.md` was not saved: the journal could not be written (ENOSPC)",
    {},
    false,
    "not carried out: it was never begun, and the id is closed now",
  ],
  [
    "eio-before-begun",
    "failed",
    "`a.md` was not saved: the journal could not be written (EIO)",
    {},
    false,
    "not carried out: it broke off, and there is no `a.md`",
  ],
  [
    "eio-before-journal",
    "failed",
    "`a.md` was not saved: the journal could not be written (EIO)",
    {},
    false,
    "not carried out: it broke off, and there is no `a.md`",
  ],
  [
    "enospc-before-create",
    "failed",
    "`a.md` was not saved: ENOSPC",
    {},
    false,
    "not carried out: it broke off, and there is no `a.md`",
  ],
  [
    "eio-after-create",
    "result_unknown",
    "whether `a.md` is saved is not known: making its file failed with EIO",
    { "a.md": "" },
    null,
    "it broke off, and `a.md` is not what was to be saved: a file of 0 bytes stands there",
  ],
  [
    "enospc-before-created",
    "result_unknown",
    "whether `a.md` is saved is not known: its file was made, then came ENOSPC",
    { "a.md": "" },
    null,
    "it broke off, and `a.md` is not what was to be saved: a file of 0 bytes stands there",
  ],
  [
    "enospc-after-0-bytes",
    "result_unknown",
    "whether `a.md` is saved is not known: its file was made, then came ENOSPC",
    { "a.md": "" },
    null,
    "it broke off, and `a.md` is not what was to be saved: a file of 0 bytes stands there",
  ],
  [
    "enospc-after-12-bytes",
    "result_unknown",
    "whether `a.md` is saved is not known: its file was made, then came ENOSPC",
    { "a.md": "012345678901" },
    null,
    "it broke off, and `a.md` is not what was to be saved: a file of 12 bytes stands there",
  ],
  [
    "fsync",
    "result_unknown",
    "whether `a.md` is saved is not known: its file was made, then came EIO",
    whole,
    true,
    "carried out: `a.md` has the whole content",
  ],
  [
    "eio-before-directory",
    "result_unknown",
    "whether `a.md` is saved is not known: its file was made, then came EIO",
    whole,
    true,
    "carried out: `a.md` has the whole content",
  ],
  ["eio-before-ended", "ok", "saved `a.md`, 30 bytes", whole, true, "carried out: `a.md` was saved"],
  ["short-writes", "ok", "saved `a.md`, 30 bytes", whole, true, "carried out: `a.md` was saved"],
  ["kill-after-take", undefined, "", {}, false, "not carried out: it was never begun, and the id is closed now"],
  ["kill-after-begin", undefined, "", {}, false, "not carried out: it broke off, and there is no `a.md`"],
  ["kill-after-journal", undefined, "", {}, false, "not carried out: it broke off, and there is no `a.md`"],
  [
    "kill-after-create",
    undefined,
    "",
    { "a.md": "" },
    null,
    "it broke off, and `a.md` is not what was to be saved: a file of 0 bytes stands there",
  ],
  [
    "kill-after-created",
    undefined,
    "",
    { "a.md": "" },
    null,
    "it broke off, and `a.md` is not what was to be saved: a file of 0 bytes stands there",
  ],
  [
    "short-writes,kill-after-write",
    undefined,
    "",
    { "a.md": "0123456" },
    null,
    "it broke off, and `a.md` is not what was to be saved: a file of 7 bytes stands there",
  ],
  ["kill-after-write", undefined, "", whole, true, "carried out: `a.md` has the whole content"],
  ["kill-after-fsync", undefined, "", whole, true, "carried out: `a.md` has the whole content"],
  ["kill-after-directory", undefined, "", whole, true, "carried out: `a.md` has the whole content"],
  ["kill-after-ended", undefined, "", whole, true, "carried out: `a.md` was saved"],
];

test("the sample is of faults there are", () => {
  expect(SAMPLE.filter((name) => !FAULTS.some(([fault]) => fault === name))).toEqual([]);
});

describe.each(FAULTS.filter(([fault]) => process.env.LONG_TESTS || SAMPLE.includes(fault)))("%s", (...row) => {
  const [fault, status, message, after, carriedOut, detail] = row;
  test("is answered as what it is; a fresh process tells the truth; no second file, no second use", async () => {
    const id = newId();
    const answer = await broken(fault, id);
    expect([answer?.status, answer?.message ?? ""]).toEqual([status, message]);
    expect(reports()).toEqual(after);
    const made = fault === "eio-after-create" || fault === "kill-after-create" ? 0 : Object.keys(after).length;
    expect(log("effect").length).toBe(made);
    const fresh = await start();
    expect(await told(id, fresh)).toEqual({
      operation_id: id,
      carried_out: carriedOut,
      final: carriedOut !== null,
      ...(detail.includes("never begun") ? {} : begun),
      detail,
    });
    const approval_token = await grant(report, id);
    const replay = await ask(fresh, "save_report", { ...report, approval_token });
    expect([replay.status, replay.data.field]).toEqual(["rejected", "approval_token"]);
    expect(reports()).toEqual(after);
  });
});

describe("what stands under the name of a save that broke off", () => {
  test("a report that somebody else saved there meanwhile, byte for byte the same, is not its own", async () => {
    const id = newId();
    await broken("kill-after-journal", id);
    expect((await save(await start(), report)).status).toBe("ok");
    expect(await told(id, await start())).toMatchObject({
      carried_out: false,
      final: true,
      detail: "not carried out: it broke off before it made a file; the `a.md` that stands there is another's",
    });
  });

  test("what was found stays what it was, whatever happens to the file later (documents-readback-2)", async () => {
    const [kept, never] = [newId(), newId()];
    await broken("kill-after-write", kept);
    const server = await start();
    expect((await readBack(server, kept)).carried_out).toBe(true);
    rmSync(join(root(), "reports/a.md"));
    await broken("kill-after-journal", never);
    expect((await readBack(server, never)).carried_out).toBe(false);
    writeFileSync(join(root(), "reports/a.md"), report.content);
    expect([await readBack(server, kept), await readBack(server, never)]).toMatchObject([
      { carried_out: true, final: true, detail: "carried out: `a.md` was found with the whole content" },
      {
        carried_out: false,
        final: true,
        detail: "not carried out: saving `a.md` broke off, and no file of its own was found",
      },
    ]);
  });

  test("its own file, moved away by somebody later, is left to people: nobody may say that it never was", async () => {
    for (const fault of ["kill-after-directory", "eio-before-directory"]) {
      const id = newId();
      await broken(fault, id);
      rmSync(join(root(), "reports/a.md"));
      expect(await told(id, await start())).toMatchObject({
        carried_out: null,
        final: false,
        detail: "its file `a.md` was made, and was not there any more when it was looked for",
      });
    }
  });

  test("its own file, changed by somebody later, is left to people", async () => {
    const id = newId();
    await broken("kill-after-write", id);
    writeFileSync(join(root(), "reports/a.md"), "x".repeat(30));
    expect(await told(id, await start())).toMatchObject({
      carried_out: null,
      final: false,
      detail: "it broke off, and `a.md` is not what was to be saved: a file of 30 bytes stands there",
    });
    writeFileSync(join(root(), "reports/a.md"), "x".repeat(31));
    expect(await told(id, await start())).toMatchObject({ carried_out: null, final: false });
  });
});

test("the process that failed tells the same as a fresh one, although its save never got its last line", async () => {
  const server = await faulty("enospc-after-12-bytes,enospc-before-end");
  const id = newId();
  expect((await save(server, report, id)).status).toBe("result_unknown");
  expect(await readBack(server, id)).toMatchObject({
    carried_out: null,
    final: false,
    detail: "it broke off, and `a.md` is not what was to be saved: a file of 12 bytes stands there",
  });
  const other = newId();
  const taken = await save(server, report, other);
  expect([taken.status, taken.data.field]).toEqual(["rejected", "filename"]);
  expect(await readBack(server, other)).toMatchObject({ carried_out: false, final: true });
});

test("a save that could not write its last line is open to other processes while its own lives, and known then", async () => {
  const server = await faulty("enospc-before-end");
  const id = newId();
  expect((await save(server, report, id)).status).toBe("ok");
  const other = await start();
  expect(await readBack(other, id)).toMatchObject({ carried_out: null, final: false });
  expect(await server.end()).toEqual({ code: 0, signal: null });
  expect(await readBack(other, id)).toMatchObject({ carried_out: true, final: true });
});

test("a disk that stays full leaves the question open, and never says more than it can", async () => {
  const id = newId();
  await broken("kill-after-take", id);
  const full = await faulty("enospc-before-begin");
  expect(await readBack(full, newId())).toMatchObject({ carried_out: null, final: false });
  const fenced = await readBack(await start(), id);
  expect([fenced.carried_out, fenced.final]).toEqual([false, true]);
});

test("a fault that is none keeps the server from starting", async () => {
  const server = launch({ DOCUMENTS_FAULT: "kill-after-lunch" }, "faulty");
  expect(await server.ended).toEqual({ code: 1, signal: null });
  expect(server.stderr()).toBe("documents: DOCUMENTS_FAULT names `kill-after-lunch`\n");
});
