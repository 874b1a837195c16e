import { it } from "vitest";
import { compare } from "../conformance/ledger-model.js";
import { postgresWorlds } from "./worlds.js";

const RUNS = process.env.LONG_TESTS === "1" ? 200 : 8;
const postgres = postgresWorlds();

it(`the ledgers in memory and on Postgres answer alike: ${RUNS} sequences (ledger-1) (ledger-5) (ledger-6) (G6)`, async () => {
  await compare(postgres.ledger, RUNS);
}, 600_000);
