// The command as a process: what reaches stdout, how it ends, and what one process leaves for the next.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Workspace } from "./support.js";

const TIME = 120_000;
let place: Workspace;
beforeAll(() => {
  place = new Workspace();
  place.configure(
    [{ calls: [{ name: "mcp__deploy__trigger", args: { environment: "staging" } }] }, { say: "It is deployed." }],
    { mcpServers: { deploy: place.server("deploy") }, permissions: { ask: ["mcp__deploy__trigger"] } },
  );
});
afterAll(() => place.end());

test("nobody at a terminal: it never waits for input, and stops at the first question with 3", {
  timeout: TIME,
}, async () => {
  const { child, ended } = place.start(["run", "deploy it", "--thread", "t"]); // its stdin stays open
  child.stdin.write("approve\n");
  const { code, stdout, stderr } = await ended;
  expect({ code, stderr }).toEqual({ code: 3, stderr: "thread: t\n" });
  expect(stdout).toContain("Waiting for approval: 1");
  expect(stdout).not.toContain("\u001b");
  expect(place.log("effect")).toEqual([]);
});

test("another process lists it, approves it and runs it: the store's secret outlives the first", {
  timeout: TIME,
}, async () => {
  const { value } = await place.json("approvals");
  expect(value.approvals).toHaveLength(1);
  const { code, stdout, stderr } = await place.run("approve", value.approvals[0].approvalId);
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "It is deployed.\n", stderr: "" });
  expect(place.log("effect")).toHaveLength(1);
  expect(readFileSync(join(place.folder, ".toolgate", "secret"), "utf8")).toMatch(/^[A-Za-z0-9_-]{43}\n$/);
});

test("--json: one object on stdout and nothing else there, also for a wrong command line", {
  timeout: TIME,
}, async () => {
  const threads = await place.run("threads", "--json");
  expect(threads).toMatchObject({ code: 0, stdout: '{"threads":[{"threadId":"t","status":"done"}]}\n', stderr: "" });
  const wrong = await place.run("--json", "approve");
  expect(wrong).toMatchObject({
    code: 2,
    stdout:
      '{"status":"error","error":{"code":"usage","message":"missing required argument \'id\'",' +
      '"hint":"run `toolgate --help` to see how it is used"}}\n',
  });
});
