// A read-back that was final stays as it is, whatever becomes of the report's file afterwards: a host settles by it.

import { readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Field, onField } from "./field.js";
import { approved, newId } from "./grants.js";
import { Target, targetOn } from "./target.js";

const report = { filename: "a.md", content: "text\n" };
const ERA = "2026-07-28";

/** A save whose file is whole while the disk says otherwise: its answer is result_unknown. */
async function unknownSave(field: Field): Promise<string> {
  const id = newId();
  const broken = await new Target(field, ERA, field.launch({ DOCUMENTS_FAULT: "fsync" }, "faulty")).open();
  expect((await broken.ask("save_report", approved(report, id))).status).toBe("result_unknown");
  return id;
}

async function final(target: Target, id: string): Promise<boolean | null> {
  const { data } = await target.ask("get_operation", { operation_id: id });
  expect(data.final).toBe(true);
  return data.carried_out;
}

const remove = ({ root }: Field): void => rmSync(join(root, "reports/a.md"));

test("yes after ok, although somebody removed the report", async () => {
  await onField(async (field) => {
    const target = await targetOn(field, ERA);
    const id = newId();
    expect((await target.ask("save_report", approved(report, id))).status).toBe("ok");
    expect(await final(target, id)).toBe(true);
    remove(field);
    expect(await final(target, id)).toBe(true);
  });
});

test("no after rejected, although another save made the same report since", async () => {
  await onField(async (field) => {
    const target = await targetOn(field, ERA);
    const id = newId();
    writeFileSync(join(field.root, "reports/a.md"), "first\n");
    expect((await target.ask("save_report", approved(report, id))).status).toBe("rejected");
    remove(field);
    expect((await target.ask("save_report", approved(report))).status).toBe("ok");
    expect(await final(target, id)).toBe(false);
  });
});

test("yes after result_unknown, although somebody removed the report", async () => {
  await onField(async (field) => {
    const id = await unknownSave(field);
    const target = await targetOn(field, ERA);
    expect(await final(target, id)).toBe(true);
    remove(field);
    expect(await final(target, id)).toBe(true);
  });
});

test("nobody can say after result_unknown when its file was moved away, also when another save made the same report since", async () => {
  await onField(async (field) => {
    const id = await unknownSave(field);
    const target = await targetOn(field, ERA);
    const told = async () => {
      const { data } = await target.ask("get_operation", { operation_id: id });
      return [data.carried_out, data.final];
    };
    remove(field);
    expect(await told()).toEqual([null, false]);
    expect((await target.ask("save_report", approved(report))).status).toBe("ok");
    expect(await told()).toEqual([null, false]);
  });
});

test("asking again and again about a save that failed adds nothing to its journal", async () => {
  await onField(async (field) => {
    const target = await targetOn(field, ERA);
    rmdirSync(join(field.root, "reports"));
    const id = newId();
    expect((await target.ask("save_report", approved(report, id))).status).toBe("failed");
    expect(await final(target, id)).toBe(false);
    const journal = (): string => readFileSync(join(field.root, ".operations", id), "utf8");
    const before = journal();
    for (let times = 0; times < 3; times++) expect(await final(target, id)).toBe(false);
    expect(journal()).toBe(before);
  });
});
