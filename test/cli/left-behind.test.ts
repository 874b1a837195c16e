// What a host leaves when it is ended by something else than itself, and what it says when its surroundings are gone.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { nodeArguments, Workspace } from "./support.js";

const TIME = 120_000;

let place: Workspace;
let started: number[];
beforeEach(() => {
  place = new Workspace();
  started = [];
});
afterEach(async () => {
  for (const pid of started) if (runs(pid)) process.kill(pid, "SIGKILL");
  await place.end();
});

function runs(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** A server that writes its process id into the log, never answers, and ignores the end of its stdin and SIGTERM. */
const STAYS = `import { appendFileSync } from "node:fs";
  appendFileSync(process.argv[2], JSON.stringify({ event: "started", pid: process.pid }) + "\\n");
  process.on("SIGTERM", () => {});
  setInterval(() => {}, 1000);`;

function configure(): void {
  const args = [place.write("stays.mjs", STAYS), join(place.folder, "server.log")];
  place.configure([{ say: "hello" }], { mcpServers: { stays: { command: process.execPath, args } } });
}

async function running() {
  const host = place.start(["run", "hi", "--thread", "t"]);
  const { pid } = await place.logged("started");
  started.push(pid as number);
  return { host, pid: pid as number };
}

const notes = () => readdirSync(join(place.folder, ".toolgate", "servers"));
const left = async () => {
  const { value } = await place.json("check");
  return value.problems.filter(({ code }: { code: string }) => code === "server_left_behind");
};

// A host was killed by the system for want of memory, and its servers went on writing to the disk for days.
describe("a server that outlives a killed host", () => {
  test("is named by check and by the next start, and by neither once it has ended (left-behind-1)", {
    timeout: TIME,
  }, async () => {
    configure();
    const { host, pid } = await running();
    expect(await left()).toEqual([]); // its host runs
    host.child.kill("SIGKILL");
    await host.ended;
    const message = `server \`stays\` (process ${pid}) was left running by a host that was killed: \`kill -- -${pid}\` ends it and what it started`;
    expect(await left()).toEqual([{ level: "warning", code: "server_left_behind", message }]);
    expect((await place.run("threads")).stderr).toContain(`warning: ${message}`);
    expect(runs(pid)).toBe(true); // it is named and not touched
    process.kill(pid, "SIGKILL");
    while (runs(pid)) await new Promise((resolve) => setImmediate(resolve));
    expect(await left()).toEqual([]);
  });

  test("is not taken for a process that was given its number since, nor for one of another machine (left-behind-1)", {
    timeout: TIME,
  }, async () => {
    configure();
    const { host, pid } = await running();
    host.child.kill("SIGKILL");
    await host.ended;
    const [name] = notes();
    const path = join(place.folder, ".toolgate", "servers", name as string);
    const note = JSON.parse(readFileSync(path, "utf8"));
    for (const other of [
      { ...note, leader: { ...note.leader, started: "1" } },
      { ...note, leader: { ...note.leader, machine: "another" } },
      { ...note, leader: { ...note.leader, pid: -1 } },
      "no note",
    ]) {
      writeFileSync(path, JSON.stringify(other));
      expect(await left()).toEqual([]);
    }
    writeFileSync(path, JSON.stringify(note));
    expect(await left()).toHaveLength(1);
    expect(runs(pid)).toBe(true);
  });

  test.each(["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"] as const)(
    "does not exist after %s: its group is ended, and no note is left (signals-1)",
    { timeout: TIME },
    async (signal) => {
      configure();
      const { host, pid } = await running();
      expect(notes()).toHaveLength(1);
      host.child.kill(signal);
      expect((await host.ended).code).toBe({ SIGTERM: 143, SIGINT: 130, SIGHUP: 129, SIGQUIT: 131 }[signal]);
      expect(runs(pid)).toBe(false);
      expect(notes()).toEqual([]);
    },
  );

  test("a folder that cannot be written keeps no server from being started (left-behind-2)", {
    timeout: TIME,
  }, async () => {
    configure();
    mkdirSync(join(place.folder, ".toolgate"), { mode: 0o700 });
    writeFileSync(join(place.folder, ".toolgate", "servers"), "a file where the folder should be");
    const { host, pid } = await running();
    host.child.kill("SIGTERM");
    await host.ended;
    expect(runs(pid)).toBe(false);
  });
});

/** Runs a command line of a shell in which `$TOOLGATE` is the command. */
async function shell(line: string) {
  const child = spawn(
    "sh",
    [
      "-c",
      line.replaceAll(
        "$TOOLGATE",
        `"$0" ${nodeArguments([])
          .map((part) => `'${part}'`)
          .join(" ")}`,
      ),
      process.execPath,
    ],
    {
      cwd: place.folder,
      env: { PATH: process.env.PATH, HOME: place.folder },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  const [code] = await once(child, "close");
  return { code, stdout, stderr };
}

// A pipeline took an answer that was cut off by a full disk for a whole one, because the exit code was 0.
describe("an output that takes nothing", () => {
  test.each([
    ["a full disk", "$TOOLGATE run hi --thread t --json > /dev/full", "there is no room left"],
    ["a full disk, for help", "$TOOLGATE --help > /dev/full", "there is no room left"],
    ["a full disk, for a failure", "$TOOLGATE run hi --json --config none.json > /dev/full", "there is no room left"],
    ["a reader that has gone", '{ $TOOLGATE threads --json; echo "code $?" >&2; } | true', "nobody reads it any more"],
  ])("%s: words on stderr, exit code 1 (output-1)", { timeout: TIME }, async (_, line, why) => {
    place.configure([{ say: "hello" }]);
    const { code, stdout, stderr } = await shell(line);
    expect(stdout).toBe("");
    expect(stderr).toContain(`toolgate: the output could not be written: ${why}\n`);
    expect(stderr).not.toMatch(/^ {4}at |Error:/m);
    if (line.includes("| true")) expect(stderr).toContain("code 1");
    else expect(code).toBe(1);
  });

  test("a stderr that takes nothing changes nothing", { timeout: TIME }, async () => {
    place.configure([{ say: "hello" }]);
    expect(await shell("$TOOLGATE run hi 2> /dev/full")).toEqual({ code: 0, stdout: "hello\n", stderr: "" });
  });
});

// A script removed its folder and then called the command, which answered with a stack of Node's.
describe("a folder that was deleted", () => {
  const gone = (line: string) => `mkdir gone && cd gone && rmdir ../gone && ${line}`;
  const error = {
    code: "config_unreadable",
    message: "the folder that this process works in was deleted",
    hint: "change to a folder that exists, then start it again",
  };

  test.each(["check", "run hi", "threads", "approve x"])(
    "`%s` says so, as JSON where that is asked for",
    { timeout: TIME },
    async (line) => {
      place.configure([{ say: "hello" }]);
      const words = `toolgate: ${error.message}\n  ${error.hint}\n`;
      expect(await shell(gone(`$TOOLGATE ${line}`))).toEqual({ code: 1, stdout: "", stderr: words });
      rmSync(join(place.folder, "gone"), { recursive: true, force: true });
      const { code, stdout } = await shell(
        gone(`$TOOLGATE ${line} --json --config ${join(place.folder, "toolgate.json")}`),
      );
      expect({ code, value: JSON.parse(stdout) }).toEqual({ code: 1, value: { status: "error", error } });
    },
  );

  test("help is given all the same", { timeout: TIME }, async () => {
    expect((await shell(gone("$TOOLGATE --help"))).code).toBe(0);
  });
});
