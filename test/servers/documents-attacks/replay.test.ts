// A grant is for one save, whatever became of it: used again in the same process, in another, in the other era, after a
// restart, after the report is gone, signed anew, or spelled in another way.

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Field, onField } from "./field.js";
import { grant, newId, type Report } from "./grants.js";
import { ERAS, type Era, type Target, targetOn } from "./target.js";

const USED = { field: "approval_token", rule: "was already used" };
const CLOSED = { field: "approval_token", rule: "is for an operation that was closed" };
const report: Report = { filename: "a.md", content: "text\n" };
const other = { "2025-11-25": "2026-07-28", "2026-07-28": "2025-11-25" } as const satisfies Record<Era, Era>;

/** The last character of 32 bytes in base64url carries two bits that mean nothing: three more spellings of it. */
function spellings(token: string): string[] {
  const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const at = digits.indexOf(token.slice(-1));
  return [1, 2, 3].map((bits) => token.slice(0, -1) + digits[at + bits]);
}

describe.each(ERAS)("%s", (era) => {
  async function afterSave(run: (server: Target, token: string, id: string, field: Field) => Promise<void>) {
    await onField(async (field) => {
      const server = await targetOn(field, era);
      const id = newId();
      const token = grant(report, id);
      await server.saved(report, id, token);
      await run(server, token, id, field);
      expect(field.log("effect")).toHaveLength(1);
    });
  }
  const refused = async (server: Target, args: object) => (await server.refused("save_report", args)).data;

  test("after it was carried out", () =>
    afterSave(async (server, approval_token, id) => {
      for (let times = 0; times < 3; times++)
        expect(await refused(server, { ...report, approval_token })).toEqual(USED);
      expect(await refused(server, { ...report, approval_token, operation_id: id })).toEqual(USED);
    }));

  test("to another process, in the other era", () =>
    afterSave(async (_server, approval_token, _id, field) => {
      const second = await targetOn(field, other[era]);
      expect(await refused(second, { ...report, approval_token })).toEqual(USED);
    }));

  test("after the server was killed and started again", () =>
    afterSave(async (server, approval_token, id, field) => {
      await server.process.kill();
      const second = await targetOn(field, era);
      expect(await refused(second, { ...report, approval_token })).toEqual(USED);
      expect((await second.ask("get_operation", { operation_id: id })).data.carried_out).toBe(true);
    }));

  test("after somebody removed the report: it does not come back", () =>
    afterSave(async (server, approval_token, _id, { root }) => {
      rmSync(join(root, "reports/a.md"));
      expect(await refused(server, { ...report, approval_token })).toEqual(USED);
    }));

  test("signed anew, for the same operation: later, by another approver, for another file", () =>
    afterSave(async (server, _token, id) => {
      const again = grant(report, id, { approver: "bob", thread: "thread-2" });
      expect(await refused(server, { ...report, approval_token: again })).toEqual(USED);
      const elsewhere = { filename: "b.md", content: "text\n" };
      expect(await refused(server, { ...elsewhere, approval_token: grant(elsewhere, id) })).toEqual(USED);
    }));

  test("with a signature that is spelled in another way", () =>
    afterSave(async (server, token) => {
      for (const approval_token of spellings(token))
        expect((await refused(server, { ...report, approval_token })).field).toBe("approval_token");
    }));

  test("after it was refused because the name is taken: also once the name is free", async () => {
    await onField(async (field) => {
      const server = await targetOn(field, era);
      writeFileSync(join(field.root, "reports/a.md"), "first\n");
      const id = newId();
      const args = { ...report, approval_token: grant(report, id) };
      const told = await server.refused("save_report", args, [`root/.operations/${id}`]);
      expect(told.data.field).toBe("filename");
      rmSync(join(field.root, "reports/a.md"));
      expect(await refused(server, args)).toEqual(USED);
      expect(field.log("effect")).toHaveLength(0);
    });
  });

  test("after somebody asked what became of it before it was used", async () => {
    await onField(async (field) => {
      const [server, second] = [await targetOn(field, era), await targetOn(field, other[era])];
      const id = newId();
      expect((await second.ask("get_operation", { operation_id: id })).data.carried_out).toBe(false);
      const args = { ...report, approval_token: grant(report, id) };
      expect(await refused(server, args)).toEqual(CLOSED);
      expect(await refused(second, args)).toEqual(CLOSED);
    });
  });

  test("in another root of the same name, scope and secret: every root has its own journal", async () => {
    await onField(async (field) => {
      // What a grant does not say is the root: the host gives each server of its configuration a name of its own.
      const elsewhere = join(field.ground, "elsewhere");
      mkdirSync(join(elsewhere, "sources"), { recursive: true });
      const server = await targetOn(field, era);
      const named = await targetOn(field, era, { DOCUMENTS_ROOT: elsewhere, DOCUMENTS_NAME: "elsewhere" });
      writeFileSync(join(elsewhere, "sources/good.md"), "this may be read\n");
      const id = newId();
      const approval_token = grant(report, id);
      await server.saved(report, id, approval_token);
      expect((await refused(named, { ...report, approval_token })).rule).toBe("must be for this server");
    });
  });
});
