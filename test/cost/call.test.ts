// What one call and one user turn may cost, as counts: they are the same on every machine, however busy it is.

import { beforeAll, expect, test } from "vitest";
import { serverFile } from "../support/compile.js";
import { type Cost, measureCost } from "./run.js";

let cost: Cost;
beforeAll(async () => {
  cost = await measureCost({ command: process.execPath, args: [serverFile("deploy")] });
});

test("a call within a turn waits for the disk at most 4 times", () => {
  expect(cost.call.fsyncs).toBeLessThanOrEqual(4);
});

test("a user turn of one call waits for the disk at most 7 times", () => {
  expect(cost.turn.fsyncs).toBeLessThanOrEqual(7);
});

test("a call within a turn reads the ledger at most 5 times", () => {
  expect(cost.call.ledgerReads).toBeLessThanOrEqual(5);
});

test("a call within a turn asks the schema worker once", () => {
  expect(cost.call.workerTrips).toBeLessThanOrEqual(1);
});

test("a call waits for the disk, reads the ledger and has its arguments checked at least once", () => {
  expect(Math.min(cost.call.fsyncs, cost.call.ledgerReads, cost.call.workerTrips)).toBeGreaterThanOrEqual(1);
});
