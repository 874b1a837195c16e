// A process of its own that opens a ledger: for tests that race two of them or kill one.
//
//   race PATH COUNT   says "ready", waits for a line, claims COUNT operations, says which it got, waits for end of input
//   begin PATH        claims and begins one write, says "begun", and waits to be killed
//   idle              says its owner, and waits for end of input

import { once } from "node:events";
import { createInterface } from "node:readline";
import { steadyMs } from "../../src/adapters/process/clock.js";
import { createOwner } from "../../src/adapters/process/owner.js";
import { createSqliteLedger } from "../../src/adapters/sqlite/ledger.js";
import { ACTS, batch, operation } from "../conformance/ledger-world.js";

const [mode = "", path = "", count = "0"] = process.argv.slice(2);
const input = createInterface({ input: process.stdin });
const say = (line: unknown) => process.stdout.write(`${JSON.stringify(line)}\n`);
const { owner, liveness, hold } = createOwner();
const deps = { now: () => Date.now(), steady: steadyMs, liveness };

if (mode === "race") {
  const ledger = createSqliteLedger(path, deps);
  say("ready");
  await once(input, "line");
  const won: number[] = [];
  for (let index = 0; index < Number(count); index++) {
    const save = operation({ index });
    hold(save.id);
    const result = await ledger.claim(batch([save], { threadId: `t${index}`, owner }));
    if (result.kind === "claims" && result.claims[0]?.kind === "claimed") won.push(index);
  }
  say(won);
  await once(input, "close"); // while it lives, so do its claims
} else if (mode === "begin") {
  const ledger = createSqliteLedger(path, deps);
  const save = operation();
  hold(save.id);
  await ledger.claim(batch([save], { owner }));
  say((await ledger.begin(save.id, 1, ACTS)).kind === "dispatching" ? "begun" : "not begun");
  await once(input, "close");
} else {
  say(owner);
  await once(input, "close");
}
