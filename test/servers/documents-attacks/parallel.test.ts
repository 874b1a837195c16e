// Saves that race: of one name under different grants, of one grant, and against a read-back. Several processes, both
// eras side by side, requests sent before any answer is awaited.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Field, onField } from "./field.js";
import { grant, newId } from "./grants.js";
import { ERAS, type Target, targetOn } from "./target.js";
import { NOTHING } from "./tree.js";

const TAKEN = { field: "filename", rule: "must name a report that does not exist yet" };
const USED = { field: "approval_token", rule: "was already used" };

interface Racer {
  readonly server: Target;
  readonly id: string;
  readonly content: string;
}

/** One save each, of one name; contents differ in every byte and in length. */
function racersOf(servers: readonly Target[], each: number): Racer[] {
  return Array.from({ length: servers.length * each }, (_, i) => ({
    server: servers[i % servers.length] as Target,
    id: newId(),
    content: String.fromCodePoint(0x61 + i).repeat(1_000 + 100 * i),
  }));
}

/** Effects under a name. */
const effects = (field: Field, filename: string): number =>
  field.log("effect").filter((effect) => (effect.arguments as { filename: string }).filename === filename).length;

/** attacks-1 for a race: one report, a journal for each, and everybody says what happened. */
async function race(field: Field, racers: readonly Racer[], filename: string): Promise<void> {
  const save = ({ server, id, content }: Racer) =>
    server.ask("save_report", { filename, content, approval_token: grant({ filename, content }, id) });
  const { value, changes } = await field.during(() => Promise.all(racers.map(save)));
  const journals = racers.map(({ id }) => `root/.operations/${id}`).sort();
  expect(changes).toEqual({ ...NOTHING, added: [...journals, `root/reports/${filename}`] });
  const winners = racers.filter((_, i) => value[i]?.status === "ok");
  expect(winners).toHaveLength(1);
  expect(field.report(filename).toString()).toBe(winners[0]?.content);
  for (const told of value.filter(({ status }) => status !== "ok"))
    expect([told.status, told.data]).toEqual(["rejected", TAKEN]);
  const ask = ({ server, id }: Racer) => server.ask("get_operation", { operation_id: id });
  const back = (await Promise.all(racers.map(ask))).map(({ data }) => data);
  expect(back.filter(({ final }) => !final)).toEqual([]);
  const happened = back.filter(({ carried_out }) => carried_out === true);
  expect(happened.map(({ operation_id }) => operation_id)).toEqual([winners[0]?.id]);
  expect(effects(field, filename)).toBe(1);
}

describe("four processes", () => {
  let field: Field;
  let servers: Target[];
  beforeAll(async () => {
    field = new Field();
    servers = await Promise.all([...ERAS, ...ERAS].map((era) => targetOn(field, era)));
  });
  afterAll(() => field.end());

  test("one name, 32 grants: exactly one wins, and its report is whole", async () => {
    await race(field, racersOf(servers, 8), "one.md");
    for (const server of servers) await server.serves();
  });

  test("one name after another: whoever wins, it is one each time", async () => {
    for (let round = 0; round < 10; round++) await race(field, racersOf(servers, 1), `round-${round}.md`);
  });

  test("one grant, 16 times: it is used once", async () => {
    const [report, id] = [{ filename: "once.md", content: "text\n" }, newId()];
    const args = { ...report, approval_token: grant(report, id), operation_id: id };
    const times = Array.from({ length: 4 }, () => servers).flat();
    const save = () => Promise.all(times.map((server) => server.ask("save_report", args)));
    const { value, changes } = await field.during(save);
    expect(changes).toEqual({ ...NOTHING, added: [`root/.operations/${id}`, "root/reports/once.md"] });
    expect(value.filter(({ status }) => status === "ok")).toHaveLength(1);
    for (const told of value.filter(({ status }) => status !== "ok"))
      expect([told.status, told.data]).toEqual(["rejected", USED]);
    expect(effects(field, "once.md")).toBe(1);
  });

  test("different names, 32 grants: nobody stands in anybody's way", async () => {
    const racers = racersOf(servers, 8).map((racer) => ({ ...racer, filename: `${racer.id.slice(0, 40)}.md` }));
    const saves = racers.map(({ server, id, content, filename }) =>
      server.ask("save_report", { filename, content, approval_token: grant({ filename, content }, id) }),
    );
    expect((await Promise.all(saves)).map(({ status }) => status)).toEqual(racers.map(() => "ok"));
    for (const { filename, content } of racers) expect(field.report(filename).toString()).toBe(content);
  });

  test("a save and a question about it at the same moment, 30 times: what is said last is true, and `no` stays no", async () => {
    const [saver, asker] = [servers[0] as Target, servers[1] as Target];
    for (let round = 0; round < 30; round++) {
      const [report, id] = [{ filename: `asked-${round}.md`, content: "text\n" }, newId()];
      const ask = () => asker.ask("get_operation", { operation_id: id });
      const early = round % 2 === 0 ? undefined : ask(); // who is sent first changes from round to round
      const save = saver.ask("save_report", { ...report, approval_token: grant(report, id) });
      const [told, first] = await Promise.all([save, early ?? ask()]);
      const isThere = readdirSync(join(field.root, "reports")).includes(report.filename);
      expect(told.status).toBe(isThere ? "ok" : "rejected");
      const last = (await ask()).data;
      expect([last.carried_out, last.final]).toEqual([isThere, true]);
      if (first.data.final) expect(first.data.carried_out).toBe(isThere);
      expect(effects(field, report.filename)).toBe(isThere ? 1 : 0);
    }
  });
});

test.each(ERAS)("one process, %s: one name, 16 grants, all sent before the first is answered", async (era) => {
  await onField(async (field) => race(field, racersOf([await targetOn(field, era)], 16), "a.md"));
});
