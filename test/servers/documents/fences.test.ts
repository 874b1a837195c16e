// Saves and read-backs that cross each other: several processes of one root, held at a step until the other has spoken.

import { describe, expect, test } from "vitest";
import { ask, grant, newId, place, readBack, save } from "./place.js";

const { start, faulty, reports, log, pipe } = place();
const report = { filename: "a.md", content: "text\n" };

/** A save in a process that waits at `step`; `settled` is its answer. */
async function heldSave(step: string, id: string) {
  const { path, held } = pipe();
  const server = await faulty(`hold-${step}`, { DOCUMENTS_HOLD: path });
  const answer = save(server, report, id);
  answer.catch(() => {}); // looked at by the test, or the process was ended
  const gate = await held();
  return { server, answer, letGo: () => gate.close() };
}

describe("a read-back while the save is under way", () => {
  test.each(["before-create", "after-created", "before-fsync", "before-directory"])(
    "%s: not over yet",
    async (step) => {
      const id = newId();
      const { server, answer, letGo } = await heldSave(step, id);
      const other = await start();
      expect(await readBack(other, id)).toMatchObject({
        carried_out: null,
        final: false,
        filename: "a.md",
        detail: `begun and not over: process ${server.pid} is still at it`,
      });
      await letGo();
      expect((await answer).status).toBe("ok");
      expect(await readBack(other, id)).toMatchObject({ carried_out: true, final: true });
      expect(reports()).toEqual({ "a.md": "text\n" });
    },
  );

  test("once its process is killed, the same question has an answer (documents-life-2)", async () => {
    const id = newId();
    const { server } = await heldSave("before-create", id);
    const other = await start();
    expect((await readBack(other, id)).final).toBe(false);
    await server.kill();
    expect(await readBack(other, id)).toMatchObject({ carried_out: false, final: true });
    expect(reports()).toEqual({});
  });
});

describe("a fence", () => {
  test.each([
    ["before-take", "its grant was looked at, its journal is not there yet"],
    ["after-take", "its journal is there, without a word in it"],
    ["before-begin", "the same"],
  ])("comes before a save that is held %s (%s): no file, and both say so (documents-readback-1)", async (step) => {
    const id = newId();
    const { answer, letGo } = await heldSave(step, id);
    const other = await start();
    expect(await readBack(other, id)).toMatchObject({ carried_out: false, final: true });
    await letGo();
    expect(await answer).toEqual({
      status: "rejected",
      message: "`approval_token` is for an operation that was closed; nothing was saved",
      data: { field: "approval_token", rule: "is for an operation that was closed" },
    });
    expect(await readBack(other, id)).toMatchObject({ carried_out: false, final: true });
    expect(reports()).toEqual({});
    expect(log("effect")).toEqual([]);
  });

  test("one that found a journal without a word, but writes after the save, does not stop it (documents-journal-1)", async () => {
    const id = newId();
    const { answer, letGo } = await heldSave("before-begin", id);
    // The read-back has seen the blank journal, and is held before it adds its fence.
    const { path, held } = pipe();
    const asker = await faulty("hold-before-append", { DOCUMENTS_HOLD: path });
    const asked = readBack(asker, id);
    const gate = await held();
    await letGo();
    expect((await answer).status).toBe("ok");
    await gate.close();
    expect(await asked).toMatchObject({ carried_out: true, final: true });
    expect(reports()).toEqual({ "a.md": "text\n" });
  });

  test("an id that was asked about is closed in every process, with the grant still good", async () => {
    const [one, other] = await Promise.all([start(), start()]);
    const id = newId();
    expect(await readBack(one, id)).toEqual({
      operation_id: id,
      carried_out: false,
      final: true,
      detail: "not carried out: it was never begun, and the id is closed now",
    });
    expect((await save(other, report, id)).data.rule).toBe("is for an operation that was closed");
    expect((await save(one, report, id)).data.rule).toBe("is for an operation that was closed");
    expect((await save(one, report)).status).toBe("ok");
  });
});

describe("side by side", () => {
  test("one name in four processes: exactly one wins, the others say why, the file is the winner's", async () => {
    const servers = await Promise.all(Array.from({ length: 4 }, () => start()));
    const saves = servers.flatMap((server, s) =>
      [0, 1, 2].map(async (i) => {
        const content = `${s}.${i}\n`.repeat(1_000);
        return { content, told: await save(server, { filename: "a.md", content }) };
      }),
    );
    const all = await Promise.all(saves);
    const won = all.filter(({ told }) => told.status === "ok");
    expect(won.length).toBe(1);
    expect(all.filter(({ told }) => told.status === "rejected" && told.data.field === "filename").length).toBe(11);
    expect(reports()).toEqual({ "a.md": won[0]?.content });
    expect(log("effect").length).toBe(1);
  });

  test("one grant in four processes: used once, also for a name of its own", async () => {
    const servers = await Promise.all(Array.from({ length: 4 }, () => start()));
    const id = newId();
    const approval_token = await grant(report, id);
    const all = await Promise.all(
      servers.flatMap((server) => [0, 1, 2].map(() => ask(server, "save_report", { ...report, approval_token }))),
    );
    const of = (status: string) => all.filter((told) => told.status === status);
    expect([of("ok").length, of("rejected").length]).toEqual([1, 11]);
    expect(new Set(of("rejected").map(({ data }) => data.rule))).toEqual(new Set(["was already used"]));
    expect(log("effect").length).toBe(1);
    for (const server of servers) expect((await readBack(server, id)).carried_out).toBe(true);
  });
});
