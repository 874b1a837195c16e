// A fixed sample of the fault matrix, and its checker on evidence made by hand. All of it: `npm run faults`.
//
// Promises: G4, G5, G6, G7, G8 under crashes.

import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createMemoryLedger } from "../../src/adapters/memory/ledger.js";
import type { Outcome } from "../../src/contracts/index.js";
import { approve, FAILED, OK, operation, run, TTL, UNKNOWN, world } from "../conformance/ledger-world.js";
import { onePostgres } from "../support/one-postgres.js";
import { type Bundle, bundle } from "./matrix/bundle.js";
import { problems, runCell } from "./matrix/cell.js";
import { check, type Evidence } from "./matrix/check.js";
import type { Effect } from "./matrix/effects.js";
import { cellsOf } from "./matrix/matrix.js";
import { MUTANTS } from "./matrix/mutants.js";
import type { Store } from "./matrix/stores.js";

const TIME = 120_000;

/** The first place of each row, one effect and store each, and what it must come to. */
const SAMPLE: readonly (readonly [row: string, effect: Effect, store: Store, says: string])[] = [
  ["F05", "E2", "sqlite", "1 ok"],
  ["F06", "E3", "postgres", "1 ok"],
  ["F08", "E2", "sqlite", "0 result_unknown"],
  ["F10", "E2r", "sqlite", "1 ok"],
  ["F11", "E3", "postgres", "1 result_unknown"],
  ["F13", "E1", "sqlite", "1 ok"],
  ["F18", "E3", "memory", "0 unavailable"],
  ["F20", "E2", "postgres", "already_running, 1 ok"],
  ["F21", "E2", "sqlite", "store_failed, 1 ok"],
  ["F30", "E2", "sqlite", "1 ok, the other told"],
  ["F31", "E1", "sqlite", "store_tampered, 1 result_unknown"],
  ["F32", "E2r", "postgres", "store_tampered, 1 ok"],
  ["F33", "E2", "sqlite", "store_tampered, 1 result_unknown"],
];

describe("the matrix, a sample", () => {
  let built: Bundle;
  const server = onePostgres();
  beforeAll(async () => {
    built = await bundle();
  });
  afterAll(() => built.remove());
  const databases = async () => server();

  test.each(SAMPLE)("%s, %s on %s: %s (G6) (G7)", { timeout: TIME }, async (row, effect, store, says) => {
    const [cell] = cellsOf({ rows: [row], effects: [effect], stores: [store] });
    if (cell === undefined) throw new Error("there is no such cell");
    const result = await runCell(cell, { bundle: built, databases, rounds: 5 });
    expect([result.says, problems(result)]).toEqual([says, []]);
  });

  test("every row is there, for every effect on every store", () => {
    const ids = [...new Set(cellsOf({ rows: [], effects: [], stores: [] }).map(({ row }) => row.id))];
    expect(ids).toEqual([
      "F01",
      "F03",
      "F05",
      "F06",
      "F08",
      "F10",
      "F11",
      "F13",
      "F15",
      "F16",
      "F18",
      "F20",
      "F21",
      "F23",
      "F25",
      "F26",
      "F28",
      "F30",
      "F31",
      "F32",
      "F33",
      "F34",
      "F35",
    ]);
    for (const id of ids)
      expect(
        new Set(cellsOf({ rows: [id], effects: [], stores: [] }).map(({ effect, store }) => `${effect} ${store}`)).size,
      ).toBe(15);
  });
});

test("each text that a mutant changes stands exactly once in its file", () => {
  const times = ({ file, find }: { file: string; find: string }) => readFileSync(file, "utf8").split(find).length - 1;
  const changes = MUTANTS.flatMap(({ name, changes }) => changes.map((change) => ({ name, times: times(change) })));
  expect(changes.filter((change) => change.times !== 1)).toEqual([]);
});

describe("its checker", () => {
  /** What the witnesses say of one approved write that was sent once and came to `outcome`. */
  async function evidence(outcome: Outcome, more: Partial<Evidence> = {}): Promise<Evidence> {
    const at = await world(createMemoryLedger);
    const save = operation({ decision: "ask" });
    const yes = await approve(at, save);
    await run(at, save, outcome, { verdicts: [yes] });
    const [rows, asked] = [await at.ledger.operations("t1"), await at.ledger.asked([save.id])];
    const { id: operationId, arguments: args } = save;
    const messages = [
      { type: "human", text: "go" },
      { type: "ai", text: "", calls: ["call-0"] },
      { type: "tool", text: "done", answers: "call-0", operationId, status: outcome.status },
      { type: "ai", text: "Done.", calls: [] },
    ];
    return {
      log: [
        { event: "accepted", operationId },
        { event: "effect", operationId, arguments: args },
      ],
      wire: [{ tool: "save", operationId }],
      words: { rows, asked, messages, errors: [] },
      write: true,
      known: true,
      ttlMs: TTL,
      ...more,
    };
  }
  const wrong = (of: Evidence) => {
    const { double, unapproved, false: lies, unknown, format } = check(of);
    return {
      double: double.length,
      unapproved: unapproved.length,
      lies: lies.length,
      unknown: unknown.length,
      format: format.length,
    };
  };
  const SOUND = { double: 0, unapproved: 0, lies: 0, unknown: 0, format: 0 };

  test("has nothing to say of a write that was approved, sent once and is ok", async () => {
    expect(wrong(await evidence(OK))).toEqual(SOUND);
  });

  test("names a second effect, and a second line on the wire without one", async () => {
    const made = await evidence(OK);
    expect(wrong({ ...made, log: [...made.log, ...made.log] })).toEqual({ ...SOUND, double: 1 });
    expect(wrong({ ...made, wire: [...made.wire, ...made.wire] })).toEqual({ ...SOUND, double: 1 });
    expect(wrong({ ...made, wire: [...made.wire, ...made.wire], write: false })).toEqual(SOUND);
  });

  test("names an effect without a yes, with other arguments, unknown to the ledger, or past the life of its yes", async () => {
    const made = await evidence(OK);
    const [accepted, effect] = made.log as [Evidence["log"][number], Evidence["log"][number]];
    const unapproved = { ...SOUND, unapproved: 1 };
    expect(wrong({ ...made, words: { ...made.words, asked: [] } })).toEqual(unapproved);
    expect(wrong({ ...made, log: [accepted, { ...effect, arguments: { n: 1 } }] })).toEqual(unapproved);
    expect(wrong({ ...made, log: [accepted, { ...effect, operationId: "another" }] })).toEqual({
      ...unapproved,
      lies: 1,
    });
    expect(wrong({ ...made, ttlMs: -1 })).toEqual(unapproved);
  });

  test("names an ok that never happened, and a failed that did", async () => {
    const ok = await evidence(OK);
    expect(wrong({ ...ok, log: [] })).toEqual({ ...SOUND, lies: 1 });
    expect(wrong(await evidence(FAILED))).toEqual({ ...SOUND, lies: 1 });
  });

  test("names an unknown where nothing was in doubt, and none where something was", async () => {
    expect(wrong(await evidence(UNKNOWN))).toEqual({ ...SOUND, unknown: 1 });
    expect(wrong(await evidence(UNKNOWN, { known: false }))).toEqual(SOUND);
  });

  test("names a call that is answered twice, not at all, or otherwise than the ledger says", async () => {
    const made = await evidence(OK);
    const [human, ai, tool, last] = made.words.messages as [
      never,
      never,
      object & Evidence["words"]["messages"][number],
      never,
    ];
    const said = (messages: Evidence["words"]["messages"]) =>
      wrong({ ...made, words: { ...made.words, messages } }).format;
    expect(said([human, ai, tool, tool, last])).toBeGreaterThan(0);
    expect(said([human, ai, last])).toBeGreaterThan(0);
    expect(said([human, ai, { ...tool, status: "failed" }, last])).toBe(1);
  });
});
