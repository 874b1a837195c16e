// Saves that race: of one name under different grants, of one grant, and against a read-back. Several processes, both
// eras side by side, requests sent before any answer is awaited.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Field, onField } from "./field.js";
import { grant, newId } from "./grants.js";
import { ERAS, type Target, targetOn } from "./target.js";
import { NOTHING } from "./tree.js";

const TAKEN = { field: "filename", rule: "must name a report that does not exist yet" };
const USED = { field: "approval_token", rule: "was already used" };

/** Two processes of each era. */
const fourOn = (field: Field): Promise<Target[]> => Promise.all([...ERAS, ...ERAS].map((era) => targetOn(field, era)));

interface Racer {
  readonly server: Target;
  readonly id: string;
  readonly content: string;
}

/** One save each, of one name; contents differ in every byte and in length. */
function racersOf(servers: readonly Target[], each: number): Racer[] {
  const racer = (i: number) => String.fromCodePoint(0x61 + i).repeat(1_000 + 100 * i);
  return Array.from({ length: servers.length * each }, (_, i) => ({
    server: servers[i % servers.length] as Target,
    id: newId(),
    content: racer(i),
  }));
}

/** K1 for a race: one report, a journal for each, and everybody says what happened. */
async function race(field: Field, racers: readonly Racer[], filename: string): Promise<void> {
  const { value, changes } = await field.during(() =>
    Promise.all(
      racers.map(({ server, id, content }) =>
        server.ask("save_report", { filename, content, approval_token: grant({ filename, content }, id) }),
      ),
    ),
  );
  const journals = racers.map(({ id }) => `root/.operations/${id}`).sort();
  expect(changes).toEqual({ ...NOTHING, added: [...journals, `root/reports/${filename}`] });
  const winners = racers.filter((_, i) => value[i]?.status === "ok");
  expect(winners).toHaveLength(1);
  expect(field.report(filename).toString()).toBe(winners[0]?.content);
  for (const told of value.filter(({ status }) => status !== "ok"))
    expect([told.status, told.data]).toEqual(["rejected", TAKEN]);
  const back = await Promise.all(
    racers.map(({ server, id }) => server.ask("get_operation", { operation_id: id }).then(({ data }) => data)),
  );
  expect(back.every(({ final }) => final)).toBe(true);
  expect(back.filter(({ carried_out }) => carried_out).map(({ operation_id }) => operation_id)).toEqual([
    winners[0]?.id,
  ]);
}

test("one name, 32 grants, four processes: exactly one wins, and its report is whole", async () => {
  await onField(async (field) => {
    const servers = await fourOn(field);
    await race(field, racersOf(servers, 8), "a.md");
    expect(field.log("effect")).toHaveLength(1);
    for (const server of servers) await server.serves();
  });
});

test("one name after another: whoever wins, it is one each time", async () => {
  await onField(async (field) => {
    const servers = await fourOn(field);
    for (let round = 0; round < 10; round++) await race(field, racersOf(servers, 1), `round-${round}.md`);
    expect(field.log("effect")).toHaveLength(10);
  });
});

describe.each(ERAS)("%s", (era) => {
  test("one name, 16 grants, one process that has them all before it answers the first", async () => {
    await onField(async (field) => {
      await race(field, racersOf([await targetOn(field, era)], 16), "a.md");
      expect(field.log("effect")).toHaveLength(1);
    });
  });
});

test("one grant, 16 times, four processes: it is used once", async () => {
  await onField(async (field) => {
    const servers = await fourOn(field);
    const [report, id] = [{ filename: "a.md", content: "text\n" }, newId()];
    const args = { ...report, approval_token: grant(report, id), operation_id: id };
    const times = Array.from({ length: 4 }, () => servers).flat();
    const save = () => Promise.all(times.map((server) => server.ask("save_report", args)));
    const { value, changes } = await field.during(save);
    expect(changes).toEqual({ ...NOTHING, added: [`root/.operations/${id}`, "root/reports/a.md"] });
    expect(value.filter(({ status }) => status === "ok")).toHaveLength(1);
    for (const told of value.filter(({ status }) => status !== "ok"))
      expect([told.status, told.data]).toEqual(["rejected", USED]);
    expect(field.log("effect")).toHaveLength(1);
  });
});

test("different names, 32 grants, four processes: nobody stands in anybody's way", async () => {
  await onField(async (field) => {
    const racers = racersOf(await fourOn(field), 8);
    const told = await Promise.all(
      racers.map(({ server, id, content }) => {
        const report = { filename: `${id.slice(0, 40)}.md`, content };
        return server.ask("save_report", { ...report, approval_token: grant(report, id) });
      }),
    );
    expect(told.map(({ status }) => status)).toEqual(racers.map(() => "ok"));
    for (const { id, content } of racers) expect(field.report(`${id.slice(0, 40)}.md`).toString()).toBe(content);
    expect(field.log("effect")).toHaveLength(32);
  });
});

test("a save and a question about it at the same moment, 30 times: what is said last is true, and `no` stays no", async () => {
  await onField(async (field) => {
    const servers = await fourOn(field);
    const [saver, asker] = [servers[0] as Target, servers[1] as Target];
    let saved = 0;
    for (let round = 0; round < 30; round++) {
      const [report, id] = [{ filename: `round-${round}.md`, content: "text\n" }, newId()];
      const args = { ...report, approval_token: grant(report, id) };
      const save = () => saver.ask("save_report", args);
      const ask = () => asker.ask("get_operation", { operation_id: id });
      // Who is sent first changes from round to round.
      const early = round % 2 === 0 ? undefined : ask();
      const [told, first] = await Promise.all([save(), early ?? ask()]);
      const isThere = readdirSync(join(field.root, "reports")).includes(report.filename);
      expect(told.status).toBe(isThere ? "ok" : "rejected");
      const last = (await ask()).data;
      expect([last.carried_out, last.final]).toEqual([isThere, true]);
      if (first.data.final) expect(first.data.carried_out).toBe(isThere);
      if (isThere) saved += 1;
    }
    expect(field.log("effect")).toHaveLength(saved);
  });
});
