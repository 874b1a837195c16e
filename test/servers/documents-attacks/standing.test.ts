// What stands under a right name and leads out of the root, blocks, or is no document: in `sources/` for reads and the
// search, in `reports/` for saves, in `.operations/` for the journal. (standing.ts)

import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CANARY } from "./field.js";
import { grant, newId } from "./grants.js";
import { hardLinks, irregular, links, notText, type Put, tooLarge } from "./standing.js";
import { attacked, SAMPLED, type Target } from "./target.js";
import { NOTHING } from "./tree.js";

const leadOut = [...links, ...irregular, ...hardLinks];
const ruled = (things: readonly [string, Put][], rule: string) =>
  things.map(([what, put]) => [what, put, rule] as const);
const documents = [
  ...ruled([...links, ...irregular], "must name a regular file"),
  ...ruled(hardLinks, "must name a file that has no other name"),
  ...ruled(tooLarge, "must name a document of at most 24000 bytes"),
  ...ruled(notText, "must name a document in valid UTF-8"),
];

/** Runs with something at a path of the root, and nothing of it afterwards. */
async function standing(target: Target, path: string, put: Put, run: () => Promise<void>): Promise<void> {
  put(join(target.field.root, path), target.field);
  await run();
  rmSync(join(target.field.root, path), { recursive: true });
  rmSync(join(target.field.outside, "pipe"), { force: true });
}

describe.each(SAMPLED)("%s", (era) => {
  const target = attacked(era);

  describe("a document that is", () => {
    test.each(documents)("%s: not read, and passed over by the search", async (_what, put, rule) => {
      await standing(target(), "sources/a.md", put, async () => {
        const told = await target().refused("read_document", { filename: "a.md" });
        expect(told.data).toEqual({ field: "filename", rule });
        const { value, changes } = await target().field.during(() =>
          target().ask("search_documents", { query: CANARY.slice(0, 6) }),
        );
        expect(value.data).toEqual({ hits: [], examined: 1, skipped: 1, truncated: false });
        expect(changes).toEqual(NOTHING);
      });
    });

    test("of exactly 24,000 bytes: read, and nothing of it is left out", async () => {
      const text = "x".repeat(24_000);
      await standing(
        target(),
        "sources/a.md",
        (path) => writeFileSync(path, text),
        async () => {
          const { result } = await target().call("read_document", { filename: "a.md" });
          expect(result.content).toEqual([{ type: "text", text }]);
        },
      );
    });

    test("in a folder of `sources`, real or linked: neither read nor found", async () => {
      const sources = join(target().field.root, "sources");
      mkdirSync(join(sources, "deep"));
      writeFileSync(join(sources, "deep/canary.md"), CANARY);
      symlinkSync("../../outside", join(sources, "linked"));
      for (const filename of ["deep/canary.md", "linked/canary.md", "linked/../canary.md"])
        expect((await target().refused("read_document", { filename })).data.field).toBe("filename");
      const found = await target().ask("search_documents", { query: CANARY.slice(0, 6) });
      expect(found.data).toEqual({ hits: [], examined: 1, skipped: 2, truncated: false });
    });
  });

  describe("a report's name under which stands", () => {
    test.each([...leadOut, ["a report", (path: string) => writeFileSync(path, "first\n")] as [string, Put]])(
      "%s: nothing is followed, opened or written over",
      async (_what, put) => {
        await standing(target(), "reports/a.md", put, async () => {
          const [report, id] = [{ filename: "a.md", content: "second\n" }, newId()];
          const args = { ...report, approval_token: grant(report, id) };
          const told = await target().refused("save_report", args, [`root/.operations/${id}`]);
          expect(told.data).toEqual({ field: "filename", rule: "must name a report that does not exist yet" });
          const asked = await target().ask("get_operation", { operation_id: id });
          expect([asked.data.carried_out, asked.data.final]).toEqual([false, true]);
        });
      },
    );
  });

  describe("an operation's journal under whose name stands", () => {
    test.each(leadOut)("%s: no save, and a read-back that does not guess", async (_what, put) => {
      const [report, id] = [{ filename: "journal.md", content: "text\n" }, newId()];
      await standing(target(), `.operations/${id}`, put, async () => {
        const args = { ...report, approval_token: grant(report, id) };
        const told = await target().refused("save_report", args);
        expect(told.data).toEqual({ field: "approval_token", rule: "was already used" });
        const ask = () => target().ask("get_operation", { operation_id: id });
        const { value, changes } = await target().field.during(ask);
        expect([value.status, value.data.carried_out, value.data.final]).toEqual(["ok", null, false]);
        expect(changes).toEqual(NOTHING);
        target().field.mute(JSON.stringify(value));
      });
    });
  });
});
