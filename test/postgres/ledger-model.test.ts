import { it } from "vitest";
import { compare } from "../conformance/ledger-model.js";
import { stepsForward } from "../conformance/ledger-steps.js";
import { postgresWorlds } from "./worlds.js";

const RUNS = process.env.LONG_TESTS === "1" ? 200 : 8;
const postgres = postgresWorlds();

it(`the ledgers in memory and on Postgres answer alike: ${RUNS} sequences (ledger-1) (ledger-5) (ledger-6) (G6)`, async () => {
  await compare(postgres.ledger, RUNS);
}, 600_000);

// Each host keeps what it loaded last, and what the other stored since must not be missed. The clock only goes forward:
// that it was set back between two writes is seen by the host that looked, and by no other.
it(`two hosts on one Postgres answer as the one in memory does: ${RUNS} sequences (ledger-1) (ledger-5) (ledger-6) (G6)`, async () => {
  await compare((deps) => postgres.hosts(deps), RUNS, stepsForward);
}, 600_000);
