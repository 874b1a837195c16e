// The workspace's own folders, replaced: before the server starts, so that it does not start; and while it runs, so that
// it goes on in the folders that it opened.

import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { CANARY, type Field, onField } from "./field.js";
import { approved, grant, newId, SECRET } from "./grants.js";
import type { Put } from "./standing.js";
import { SAMPLED, targetOn } from "./target.js";
import { changesOf, lookAt, NOTHING } from "./tree.js";

const FOLDERS = ["sources", "reports", ".operations"] as const;

/** What the server says that does not start; it must end by itself, with nothing on stdout. */
async function refusal(field: Field, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const process = field.launch(env);
  expect(await process.ended).toEqual({ code: 1, signal: null });
  expect(process.lines).toEqual([]);
  return process.stderr();
}

describe("before the start", () => {
  const instead: readonly [string, Put][] = [
    ["a link to a folder outside", (path) => symlinkSync("../outside", path)],
    ["a link to a folder of the root", (path) => symlinkSync("real", path)],
    ["a link that leads nowhere", (path) => symlinkSync("../outside/new", path)],
    ["a pipe", (path) => void execFileSync("mkfifo", [path])],
  ];

  test.each(FOLDERS.flatMap((name) => instead.map(([what, put]) => [name, what, put] as const)))(
    "`%s` is %s: no start, in one line that names it",
    async (name, _what, put) => {
      await onField(async (field) => {
        mkdirSync(join(field.root, "real"));
        rmSync(join(field.root, name), { recursive: true, force: true });
        put(join(field.root, name), field);
        const { value, changes } = await field.during(() => refusal(field));
        expect(value).toBe(`documents: cannot open \`${name}\`: it is a link or no directory\n`);
        expect(changes).toEqual({ ...NOTHING, added: name === ".operations" ? ["root/reports"] : [] });
      });
    },
  );

  test.each([
    ["a link to the root", "link", "the folder that DOCUMENTS_ROOT names: it is a link or no directory"],
    ["a file", "canary.md", "the folder that DOCUMENTS_ROOT names: it is a link or no directory"],
    ["not there", "absent", "the folder that DOCUMENTS_ROOT names: it does not exist"],
    ["without `sources`", "outside", "`sources`: it does not exist"],
  ])("the root is %s", async (_what, name, reason) => {
    await onField(async (field) => {
      symlinkSync("root", join(field.ground, "link"));
      const env = { DOCUMENTS_ROOT: join(field.ground, name) };
      const { value, changes } = await field.during(() => refusal(field, env));
      expect([value, changes]).toEqual([`documents: cannot open ${reason}\n`, NOTHING]);
    });
  });

  test.each([
    ["too short", SECRET.slice(0, 31), "31"],
    ["empty", "", "0"],
  ])("the secret is %s: no start, and it is not said", async (_what, secret, count) => {
    await onField(async (field) => {
      const { value, changes } = await field.during(() => refusal(field, { DOCUMENTS_SECRET: secret }));
      expect(value).toBe(`documents: DOCUMENTS_SECRET has ${count} characters, expected at least 32\n`);
      expect(changes).toEqual(NOTHING);
    });
  });
});

describe.each(SAMPLED)("while it runs, %s", (era) => {
  /** A folder outside that looks like what it replaces. */
  const evil = (field: Field): string => {
    const path = join(field.ground, "evil");
    for (const name of FOLDERS) mkdirSync(join(path, name), { recursive: true });
    for (const folder of ["", "sources"]) writeFileSync(join(path, folder, "good.md"), CANARY);
    return path;
  };
  const link = (path: string, to: string): void => symlinkSync(to, path);
  const move = (path: string, to: string): void => renameSync(to, path);

  test.each([
    ["sources", "a link", link],
    ["reports", "a link", link],
    [".operations", "a link", link],
    [".", "a link", link],
    [".", "another folder", move],
  ] as const)("`%s` is replaced by %s: the server goes on in the one that it opened", async (name, _what, replace) => {
    await onField(async (field) => {
      const target = await targetOn(field, era);
      const path = join(field.root, name);
      const moved = name === "." ? join(field.ground, "moved") : join(field.root, "moved");
      const bait = evil(field);
      renameSync(path, moved);
      replace(name === "." ? field.root : path, bait);
      const now = (folder: string): string =>
        name === "." ? `moved/${folder}` : `root/${folder === name ? "moved" : folder}`;
      await target.serves();
      expect((await target.ask("search_documents", { query: "canary" })).data.hits).toEqual([]);
      const [report, id] = [{ filename: "a.md", content: "text\n" }, newId()];
      const save = () => target.ask("save_report", { ...report, approval_token: grant(report, id) });
      const { value, changes } = await field.during(save);
      expect(value.status).toBe("ok");
      const added = [`${now(".operations")}/${id}`, `${now("reports")}/a.md`].sort();
      expect(changes).toEqual({ ...NOTHING, added });
      expect((await target.ask("get_operation", { operation_id: id })).data.carried_out).toBe(true);
    });
  });

  test("`reports` removed: the save failed, and the read-back says no", async () => {
    await onField(async (field) => {
      const target = await targetOn(field, era);
      rmdirSync(join(field.root, "reports"));
      const id = newId();
      const { value, changes } = await field.during(() =>
        target.ask("save_report", approved({ filename: "a.md", content: "text\n" }, id)),
      );
      expect(value).toEqual({ status: "failed", message: "`a.md` was not saved: ENOENT", data: null });
      expect(changes).toEqual({ ...NOTHING, added: [`root/.operations/${id}`] });
      const asked = await target.ask("get_operation", { operation_id: id });
      expect([asked.data.carried_out, asked.data.final]).toEqual([false, true]);
      await target.serves();
    });
  });

  test("`.operations` removed: nothing is saved without a journal, and the read-back does not guess", async () => {
    await onField(async (field) => {
      const target = await targetOn(field, era);
      rmdirSync(join(field.root, ".operations"));
      const id = newId();
      const { value, changes } = await field.during(() =>
        target.ask("save_report", approved({ filename: "a.md", content: "text\n" }, id)),
      );
      expect(value.status).toBe("failed");
      expect(value.message).toBe("`a.md` was not saved: the journal could not be written (ENOENT)");
      expect(changes).toEqual(NOTHING);
      const asked = await target.ask("get_operation", { operation_id: id });
      expect([asked.data.carried_out, asked.data.final]).toEqual([null, false]);
      await target.serves();
    });
  });

  test("`sources` removed: there are no documents, and saves go on", async () => {
    await onField(async (field) => {
      const target = await targetOn(field, era);
      rmSync(join(field.root, "sources"), { recursive: true });
      const told = await target.ask("read_document", { filename: "good.md" });
      expect(told).toEqual({ status: "failed", message: "there is no document `good.md`", data: null });
      expect((await target.ask("search_documents", { query: "x" })).data.hits).toEqual([]);
      const [report, id] = [{ filename: "a.md", content: "text\n" }, newId()];
      await target.saved(report, id, grant(report, id));
    });
  });

  test("`reports` swapped to and fro for a link to outside, while saves come in: none gets out", async () => {
    await onField(async (field) => {
      const target = await targetOn(field, era);
      const [path, moved] = [join(field.root, "reports"), join(field.root, "moved")];
      const outside = lookAt(field.outside);
      const names = Array.from({ length: 40 }, (_, i) => `report-${i}.md`);
      let over = false;
      const swaps = (async () => {
        let count = 0;
        for (; !over; count++) {
          renameSync(path, moved);
          symlinkSync("../outside", path);
          await setImmediate();
          unlinkSync(path);
          renameSync(moved, path);
          await setImmediate();
        }
        return count;
      })();
      const saves = names.map((filename) => target.ask("save_report", approved({ filename, content: "text\n" })));
      const told = await Promise.all(saves);
      over = true;
      expect(await swaps).toBeGreaterThan(0);
      expect(new Set(told.map(({ status }) => status))).toEqual(new Set(["ok"]));
      expect(readdirSync(path).sort()).toEqual(names.sort());
      expect(changesOf(outside, lookAt(field.outside))).toEqual(NOTHING);
    });
  });
});
