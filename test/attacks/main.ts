// `npm run attacks`: every attack from many seeds, printed as a table of what got through. Exits with 1 if anything did, or if an
// attack does not get through where its wall is missing. Progress goes to stderr.
//
//   --runs 40      attacks of each kind at each door
//   --seed 1       the first seed
//   --kind rules · --door graph    only these; each can be given more than once

import { parseArgs } from "node:util";
import { setup, teardown } from "../support/compile.js";
import { type Attack, nameOf } from "./attack.js";
import { printAttacks, type Tally } from "./print.js";
import { ATTACKS, strike } from "./run.js";

/** In so many tries an attack must get through where its wall is missing. */
const OPEN_TRIES = 5;

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "40" },
    seed: { type: "string", default: "1" },
    kind: { type: "string", multiple: true, default: [] },
    door: { type: "string", multiple: true, default: [] },
  },
});
const [runs, first] = [Number(values.runs), Number(values.seed)];
const isNamed = (names: readonly string[], name: string) => names.length === 0 || names.includes(name);
const attacks = ATTACKS.filter(({ kind, door }) => isNamed(values.kind, kind) && isNamed(values.door, door));
if (attacks.length === 0) throw new Error("there is no such attack");

const escaped: string[] = [];
const escapes = (error: unknown) => void escaped.push(`escaped: ${String(error)}`);
process.on("uncaughtException", escapes).on("unhandledRejection", escapes);

/** What got through from one seed; an attack that could not be made is said, too. */
const made = (attack: Attack, seed: number): Promise<readonly string[]> =>
  strike(attack, seed).catch((error: unknown) => [`it could not be made: ${(error as Error).stack ?? String(error)}`]);

await setup();
const tallies: Tally[] = [];
const said: string[] = [];
for (const attack of attacks) {
  let through = 0;
  for (let seed = first; seed < first + runs; seed += 1) {
    const breaches = [...(await made(attack, seed)), ...escaped.splice(0)];
    if (breaches.length > 0) through += 1;
    said.push(...breaches.map((breach) => `${nameOf(attack)}, seed ${seed}: ${breach}`));
  }
  let open = 0;
  for (let seed = first; seed < first + OPEN_TRIES; seed += 1)
    open += (await strike(attack, seed, false).catch(() => [])).length;
  if (open === 0) said.push(`${nameOf(attack)}: did not get through where its wall is missing`);
  tallies.push({ kind: attack.kind, door: attack.door, made: runs, through });
  console.error(`${Math.round(performance.now() / 1_000)} s, ${nameOf(attack)}: ${through} of ${runs}`);
}
teardown();
console.log(printAttacks(tallies));
if (said.length > 0) console.log(`\n${said.join("\n")}`);
process.exit(said.length === 0 ? 0 : 1);
