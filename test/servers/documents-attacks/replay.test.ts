// A grant is for one save, whatever became of it: used again in the same process, in another, in the other era, after a
// restart, after the report is gone, or signed anew.

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { GOOD } from "./field.js";
import { approved, grant, newId, type Report } from "./grants.js";
import { attacked, ERAS, type Era, type Target, targetOn } from "./target.js";

const USED = { field: "approval_token", rule: "was already used" };
const CLOSED = { field: "approval_token", rule: "is for an operation that was closed" };
const OTHER = { "2025-11-25": "2026-07-28", "2026-07-28": "2025-11-25" } as const satisfies Record<Era, Era>;

describe.each(ERAS)("%s", (era) => {
  const target = attacked(era);
  let second: Target; // another process over the same root
  beforeAll(async () => {
    second = await targetOn(target().field, OTHER[era]);
  });

  let count = 0;
  const newReport = (): Report => ({ filename: `report-${++count}.md`, content: "text\n" });
  const pathOf = ({ filename }: Report): string => join(target().field.root, "reports", String(filename));
  const refused = async (args: object, server = target()) => (await server.refused("save_report", args)).data;
  /** Effects, all of them: one for each save that was carried out. */
  const effects = (): number => target().field.log("effect").length;

  /** A save that was carried out. */
  async function saved() {
    const [report, id] = [newReport(), newId()];
    const args = { ...report, approval_token: grant(report, id) };
    await target().saved(report, id, args.approval_token);
    return { report, id, args, effects: effects() };
  }

  test("after it was carried out: in this process and in another, with the operation id and without", async () => {
    const { args, id, effects: before } = await saved();
    for (const server of [target(), second, target(), second]) {
      expect(await refused(args, server)).toEqual(USED);
      expect(await refused({ ...args, operation_id: id }, server)).toEqual(USED);
    }
    expect(effects()).toBe(before);
  });

  test("after the server was killed, and started again", async () => {
    const killed = await targetOn(target().field, era);
    const [report, id] = [newReport(), newId()];
    const args = { ...report, approval_token: grant(report, id) };
    await killed.saved(report, id, args.approval_token);
    await killed.process.kill();
    const again = await targetOn(target().field, era);
    expect(await refused(args, again)).toEqual(USED);
    expect((await again.ask("get_operation", { operation_id: id })).data.carried_out).toBe(true);
  });

  test("after somebody removed the report: it does not come back", async () => {
    const { args, report, effects: before } = await saved();
    rmSync(pathOf(report));
    expect(await refused(args)).toEqual(USED);
    expect(effects()).toBe(before);
  });

  test("signed anew for the same operation: by another approver, and for another file", async () => {
    const { report, id, effects: before } = await saved();
    const again = grant(report, id, { approver: "bob", thread: "thread-2" });
    expect(await refused({ ...report, approval_token: again })).toEqual(USED);
    const elsewhere = newReport();
    expect(await refused({ ...elsewhere, approval_token: grant(elsewhere, id) })).toEqual(USED);
    expect(effects()).toBe(before);
  });

  test("after it was refused because the name was taken: also once the name is free", async () => {
    const [report, id, before] = [newReport(), newId(), effects()];
    writeFileSync(pathOf(report), "first\n");
    const args = approved(report, id);
    const told = await target().refused("save_report", args, [`root/.operations/${id}`]);
    expect(told.data.field).toBe("filename");
    rmSync(pathOf(report));
    expect(await refused(args)).toEqual(USED);
    expect(effects()).toBe(before);
  });

  test("after somebody asked, in another process, what became of it before it was used", async () => {
    const [report, id, before] = [newReport(), newId(), effects()];
    const { data } = await second.ask("get_operation", { operation_id: id });
    expect([data.carried_out, data.final]).toEqual([false, true]);
    for (const server of [target(), second]) expect(await refused(approved(report, id), server)).toEqual(CLOSED);
    expect(effects()).toBe(before);
  });

  // A grant does not say which root: the host gives each server of its configuration a name of its own.
  test("at another server of the same secret and scope, over another root", async () => {
    const elsewhere = join(target().field.ground, "elsewhere");
    mkdirSync(join(elsewhere, "sources"), { recursive: true });
    writeFileSync(join(elsewhere, "sources/good.md"), GOOD);
    const env = { DOCUMENTS_ROOT: elsewhere, DOCUMENTS_NAME: "elsewhere" };
    const named = await targetOn(target().field, era, env);
    const { args } = await saved();
    expect((await refused(args, named)).rule).toBe("must be for this server");
    expect((await refused(approved(newReport()), named)).rule).toBe("must be for this server");
  });
});
