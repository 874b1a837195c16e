// `npm run faults`: every row of the matrix for every effect in every store, a line for each row and effect. Exits with 1
// if a cell is not what it must be. Progress goes to stderr.
//
//   --row F05 · --effect E2 · --store sqlite    only these; each can be given more than once
//   --jobs 2                                    cells side by side
//   --rounds 200                                rounds of each race
//   --power                                     a loss of power wherever a host is killed, on SQLite (power-matrix.ts)
//   --mutants                                   hosts broken on purpose instead: each must be found

import { parseArgs } from "node:util";
import { startPostgres, type TestPostgres } from "../../support/postgres.js";
import { bundle } from "./bundle.js";
import { BROKE, type Cell, type Result, sound, type Tools } from "./cell.js";
import { cellsOf, runCells } from "./matrix.js";
import { MUTANTS, type Mutant } from "./mutants.js";
import {
  powerCellsOf,
  printPower,
  printPowerTotals,
  printPowerWrong,
  runPowerCells,
  type Ways,
} from "./power-matrix.js";
import { printMatrix, printTotals, printWrong, totalsOf } from "./print.js";

const { values } = parseArgs({
  options: {
    row: { type: "string", multiple: true, default: [] },
    effect: { type: "string", multiple: true, default: [] },
    store: { type: "string", multiple: true, default: [] },
    jobs: { type: "string", default: "2" },
    rounds: { type: "string" },
    power: { type: "boolean", default: false },
    mutants: { type: "boolean", default: false },
  },
});
const jobs = Number(values.jobs);
const rounds = values.rounds === undefined ? {} : { rounds: Number(values.rounds) };

let server: Promise<TestPostgres> | undefined;
const databases = (): Promise<TestPostgres> => {
  server ??= startPostgres();
  return server;
};

function progress({ row, effect, store }: Cell, result: Result, left: number): void {
  const verdict = sound(result) ? result.says : `WRONG: ${result.says}`;
  progressLine(`${left} left: ${row.id} ${row.says}, ${effect}, ${store}: ${verdict}`);
}

function progressLine(line: string): void {
  console.error(`${Math.round(performance.now() / 1_000)} s, ${line}`);
}

async function withHost<T>(run: (tools: Tools) => Promise<T>, ...mutant: Parameters<typeof bundle>): Promise<T> {
  const built = await bundle(...mutant);
  try {
    return await run({ bundle: built, databases, ...rounds });
  } finally {
    built.remove();
  }
}

/** Prints the matrix. Resolves with whether everything is as it must be. */
async function matrix(): Promise<boolean> {
  const cells = cellsOf({ rows: values.row, effects: values.effect, stores: values.store });
  if (cells.length === 0) throw new Error("there is no such cell");
  const results = await withHost((tools) => runCells(cells, tools, jobs, progress));
  const wrong = printWrong(results);
  console.log(printMatrix(results));
  console.log(`\n${printTotals(totalsOf(results.values()))}`);
  if (wrong !== "") console.log(`\n${wrong}`);
  return wrong === "";
}

/** Prints what a loss of power comes to. Resolves with whether everything is as it must be. */
async function power(): Promise<boolean> {
  const cells = powerCellsOf({ rows: values.row, effects: values.effect });
  if (cells.length === 0) throw new Error("there is no such cell");
  const results = await withHost((tools) => runPowerCells(cells, tools, jobs, progressLine));
  const wrong = printPowerWrong(results);
  console.log(printPower(results));
  console.log(`\n${printPowerTotals(results)}`);
  if (wrong !== "") console.log(`\n${wrong}`);
  return wrong === "";
}

const MUTANT_ROUNDS = 20;

/** Prints what finds each broken host. Resolves with whether each was found: by what a cell came to, not by one that broke. */
async function mutants(): Promise<boolean> {
  let found = true;
  for (const mutant of MUTANTS) {
    const wrong = mutant.power ? await wrongWithoutPower(mutant) : await wrongOf(mutant);
    console.log(`${mutant.name}: ${wrong === "" ? "LIVES" : "found"}`);
    console.log(wrong.replace(/^/gm, "  "));
    found &&= wrong !== "";
  }
  return found;
}

/** What is wrong with a broken host, a line for each cell. */
async function wrongOf(mutant: Mutant): Promise<string> {
  const cells = mutant.cells.flatMap(({ row, effects, stores }) => cellsOf({ rows: [row], effects, stores }));
  const results = await withHost(
    (tools) => runCells(cells, { rounds: MUTANT_ROUNDS, ...tools }, jobs, progress),
    mutant,
  );
  return printWrong(new Map([...results].filter(([, { says }]) => !says.startsWith(BROKE))));
}

/** The same where the power goes. */
async function wrongWithoutPower(mutant: Mutant): Promise<string> {
  const cells = mutant.cells.flatMap(({ row, effects }) => powerCellsOf({ rows: [row], effects }));
  const results = await withHost((tools) => runPowerCells(cells, tools, jobs, progressLine), mutant);
  const ended = [...results].map(([cell, ways]): [Cell, Ways] => [
    cell,
    Object.fromEntries(Object.entries(ways).filter(([, { says }]) => !says.startsWith(BROKE))),
  ]);
  return printPowerWrong(new Map(ended));
}

async function run(): Promise<boolean> {
  if (values.mutants) return mutants();
  return values.power ? power() : matrix();
}

try {
  process.exitCode = (await run()) ? 0 : 1;
} finally {
  await (await server)?.stop();
}

process.exit(process.exitCode ?? 0); // the server's own hook would end with 0
