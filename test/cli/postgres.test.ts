// The command on Postgres. Each command line is a process of its own, and one answers what another asked.

import { afterEach, beforeEach, expect, test } from "vitest";
import { commandFile } from "../support/compile.js";
import { onePostgres } from "../support/one-postgres.js";
import { Workspace } from "./support.js";

const server = onePostgres();
let place: Workspace;
beforeEach(() => {
  place = new Workspace();
});
afterEach(async () => {
  await place.end();
});

async function json(...args: string[]) {
  const { code, stdout } = await place.spawn(process.execPath, [commandFile(), ...args, "--json"]).ended;
  return { code, ...JSON.parse(stdout) };
}

test("two questions are approved one after the other, and each call runs once (G4) (G6)", async () => {
  const call = (environment: string) => ({ name: "mcp__deploy__trigger", args: { environment }, id: environment });
  place.configure([{ calls: [call("one"), call("two")] }, { say: "Both are deployed." }], {
    mcpServers: { deploy: place.server("deploy") },
    store: { kind: "postgres", url: await server().freshSchema() },
  });
  const asked = await json("run", "go", "--thread", "t1");
  const [one, two] = asked.approvals.map((each: { approvalId: string }) => each.approvalId);
  expect(await json("approvals")).toMatchObject({ code: 0, approvals: [{ approvalId: one }, { approvalId: two }] });
  expect(await json("threads")).toEqual({ code: 0, threads: [{ threadId: "t1", status: "awaiting_approval" }] });
  expect(await json("unknowns")).toEqual({ code: 0, unknowns: [] });
  expect(await json("approve", one)).toMatchObject({ code: 3, approvals: [{ approvalId: two }] });
  expect(await json("approve", two)).toMatchObject({ code: 0, answer: "Both are deployed." });
  expect(place.log("effect")).toHaveLength(2);
});
