// Ctrl-C and SIGTERM: nothing more is sent, a pending write gets its time to be answered, and the thread goes on later.

import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Report, Workspace } from "./support.js";

const TIME = 120_000;
const trigger = (environment: string) => ({ name: "mcp__deploy__trigger", args: { environment } });

let place: Workspace;
beforeEach(() => {
  place = new Workspace();
});
afterEach(() => place.end());

function configure(env: Readonly<Record<string, string>>, more: object = {}): void {
  place.configure([{ calls: [trigger("staging"), trigger("production")] }, { say: "Both are deployed." }], {
    mcpServers: { deploy: place.server("deploy", env) },
    permissions: { allow: ["mcp__deploy__*"] },
    ...more,
  });
}

const endings = (value: Report) => value.operations.map((item: Report) => [item.status, item.reason]);

test("after Ctrl-C the pending write is settled, the next one is not begun, and the thread goes on (signals-1) (exit-2)", {
  timeout: TIME,
}, async () => {
  configure({ DEPLOY_DELAY_MS: "1500" });
  const { child, ended } = place.start(["run", "deploy it", "--thread", "t"]);
  await place.logged("effect");
  child.kill("SIGINT");
  const { code, stdout, stderr } = await ended;
  expect({ code, stdout }).toEqual({ code: 130, stdout: "" });
  expect(stderr).toBe(
    [
      "thread: t",
      "toolgate: stopping; a write in flight gets a moment to be answered",
      "toolgate: stopped",
      "  `toolgate run --thread t` goes on",
      "",
    ].join("\n"),
  );
  expect(place.log("effect").map((event) => event.arguments)).toEqual([{ environment: "staging" }]);
  expect(place.log("cancelled")).toEqual([]);

  configure({});
  const next = await place.json("run", "--thread", "t");
  expect(next).toMatchObject({ code: 0, value: { status: "done", answer: "Both are deployed." } });
  expect(endings(next.value)).toEqual([
    ["ok", "success"],
    ["ok", "success"],
  ]);
  expect(place.log("effect").map((event) => event.arguments)).toEqual([
    { environment: "staging" },
    { environment: "production" },
  ]);
});

// A terminal window was closed in the middle of a write, and the record said nothing of the answer that came a moment later.
test.each([
  ["SIGTERM", 143],
  ["SIGHUP", 129],
  ["SIGQUIT", 131],
] as const)(
  "after %s a pending write has its moment: its answer is stored (signals-1) (exit-2)",
  { timeout: TIME },
  async (signal, exit) => {
    configure({ DEPLOY_DELAY_MS: "1000" });
    const { child, ended } = place.start(["run", "deploy it", "--thread", "t", "--json"]);
    await place.logged("effect");
    child.kill(signal);
    const { code, stdout } = await ended;
    expect({ code, error: JSON.parse(stdout).error.code }).toEqual({ code: exit, error: "stopped" });
    configure({});
    const next = await place.json("run", "--thread", "t");
    expect(endings(next.value)).toEqual([
      ["ok", "success"],
      ["ok", "success"],
    ]);
    expect(place.log("effect")).toHaveLength(2);
  },
);

test("after SIGTERM a write without an answer in its time has an unknown outcome, and nothing is sent again (signals-1) (exit-2)", {
  timeout: TIME,
}, async () => {
  configure({ DEPLOY_DELAY_MS: "60000" }, { lateAnswerMs: 100 });
  const { child, ended } = place.start(["run", "deploy it", "--thread", "t", "--json"]);
  await place.logged("effect");
  child.kill("SIGTERM");
  const { code, stdout } = await ended;
  expect(code).toBe(143);
  expect(JSON.parse(stdout)).toEqual({
    threadId: "t",
    status: "error",
    error: { code: "stopped", message: "stopped", hint: "`toolgate run --thread t` goes on" },
  });

  const next = await place.json("run", "--thread", "t");
  expect(next).toMatchObject({ code: 4, value: { status: "result_unknown" } });
  expect(endings(next.value)[0]?.[0]).toBe("result_unknown");
  expect(place.log("effect")).toHaveLength(1);
});

test.each(["run hi --thread t", "tools"])(
  "Ctrl-C while the servers of `%s` start ends each of them (signals-1) (exit-2)",
  { timeout: TIME },
  async (line) => {
    // The server writes its process id into the log and never answers.
    const starts = `import { appendFileSync } from "node:fs";
      appendFileSync(process.argv[2], JSON.stringify({ event: "started", pid: process.pid }) + "\\n");
      setInterval(() => {}, 1000);`;
    const args = [place.write("mute.mjs", starts), join(place.folder, "server.log")];
    place.configure([{ say: "hello" }], { mcpServers: { mute: { command: process.execPath, args } } });
    const { child, ended } = place.start(line.split(" "));
    const { pid } = await place.logged("started");
    child.kill("SIGINT");
    expect(await ended).toMatchObject({ code: 130, stdout: "" });
    expect(() => process.kill(pid as number, 0)).toThrow("ESRCH");
    expect(place.log("started")).toHaveLength(1);
  },
);
