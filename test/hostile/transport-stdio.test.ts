// Stdio servers that end, write noise, flood, hang and leave processes running: what the host sees, and what is left of them.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { StdioServer } from "../../src/contracts/index.js";
import { sourceFile } from "../support/compile.js";
import { asks, connected, World } from "../support/mcp.js";

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.end());

async function connect(config: StdioServer, deps: Parameters<World["hub"]>[1] = {}) {
  const servers = world.hub({ one: config }, deps);
  return { servers, connection: await connected(servers, "one") };
}

async function problem(config: StdioServer, deps: Parameters<World["hub"]>[1] = {}): Promise<string> {
  const result = await world.hub({ one: config }, deps).connect("one");
  return result.ok ? "it connected" : result.problem;
}

/** A dead process that nobody has reaped yet is not alive. */
function alive(pid: number | undefined): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

const pids = () => world.log("started", "grandchild").map(({ pid }) => pid);

describe("a server that dies", () => {
  // A client waited for ever when the process of the server ended before it had answered.
  test.each([
    ["before its effect", { do: "dieBefore" }, "the process was ended by SIGKILL", 0],
    ["after its effect", { do: "dieAfter" }, "the process was ended by SIGKILL", 1],
    ["after its effect, by exit", { do: "dieAfter", by: "exit" }, "the process ended with code 1", 1],
    ["within its answer", { do: "halfLine" }, "the process was ended by SIGKILL", 1],
  ])("%s, is a lost connection after an attempt, told at once (stdio-3)", async (_, act, detail, effects) => {
    const { servers, connection } = await connect(world.stdio({ calls: { act } }));
    const told = vi.fn();
    servers.onEvent(({ kind, detail }) => told(kind, detail));
    const { evidence, late } = connection.call(asks({ keepListeningMs: 1_000 }));
    expect(await evidence).toEqual({ attempted: true, refused: false, how: "closed", detail });
    expect(await late).toBeUndefined();
    expect(told.mock.calls).toEqual([["closed", detail]]);
    expect(world.log("effect")).toHaveLength(effects);
  });

  test("after its death nothing is attempted; the next connect opens a new connection", async () => {
    const { servers, connection } = await connect(world.stdio({ calls: { act: { do: "dieAfter" } } }));
    await connection.call(asks()).evidence;
    expect(connection.closed).toBe(true);
    expect(servers.connection("one")).toBeUndefined();
    expect(await connection.call(asks()).evidence).toMatchObject({ attempted: false, refused: false, how: "closed" });
    expect(await connection.listPage(undefined, 1_000, 1_000)).toEqual({
      ok: false,
      problem: "its tools could not be listed: the process was ended by SIGKILL",
    });
    expect(servers.generation("one")).toBe(1);
    expect((await connected(servers, "one")).closed).toBe(false);
    expect(servers.generation("one")).toBe(2);
    expect(world.log("accepted")).toHaveLength(1);
  });

  // A server ended with code 1 at its start, and the error read only "Connection closed".
  test("at its start, is a problem with its exit code and its last words, redacted", async () => {
    const code = `console.error("noise"); console.error("bad token hunter2 in " + process.cwd()); process.exit(3);`;
    const redact = (text: string) => text.replaceAll("hunter2", "[secret]");
    expect(await problem(world.script(code), { redact })).toBe(
      "it did not start: the process ended with code 3; its last words: noise bad token [secret] in .",
    );
  });

  // A server listed its tools and ended a few seconds later.
  test("after the handshake, is sent no call", async () => {
    const { servers, connection } = await connect(world.stdio({ duringStart: { do: "exit", code: 0, after: "list" } }));
    await connection.listPage(undefined, 10_000, 100_000).catch(() => undefined); // it may be gone before its list is read
    await vi.waitFor(() => expect(servers.connection("one")).toBeUndefined());
    expect(await connection.call(asks()).evidence).toEqual({
      attempted: false,
      refused: false,
      how: "closed",
      detail: "the process ended with code 0",
    });
    expect(world.log("accepted")).toEqual([]);
  });

  // One call to a server that ended after each handshake started more than a hundred containers.
  test("again and again, is started five times in half a minute, however often it is asked for (pool-2)", async () => {
    let now = 1_000_000;
    const starts = join(world.folder, "starts");
    const code = `
      require("node:fs").appendFileSync("starts", "+");
      process.stdin.once("data", (line) => {
        const result = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "x", version: "1" } };
        console.log(JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(line).id, result }));
        process.exit(0);
      });`;
    const config = world.script(code, { protocol: "2025-11-25" });
    const servers = world.hub({ one: config }, { now: () => now });
    const problems: string[] = [];
    for (let i = 0; i < 50; i++) {
      const result = await servers.connect("one");
      if (!result.ok && result.problem.includes("did not stay")) problems.push(result.problem);
      if (result.ok) await vi.waitFor(() => expect(result.connection.closed).toBe(true));
    }
    expect(readFileSync(starts, "utf8")).toBe("+++++");
    expect(problems).toHaveLength(45);
    // The test does not say whether the handshake of a start comes before the end of that process, because both can happen.
    const told =
      /^it was started 5 times within 30 s and did not stay; next try in 30 s; the last time: .*the process ended with code 0$/;
    expect(problems.filter((problem) => !told.test(problem))).toEqual([]);
    now += 30_000;
    await servers.connect("one");
    expect(readFileSync(starts, "utf8")).toBe("++++++");
  });

  test("50 connects at once start one process (pool-1)", async () => {
    const servers = world.hub({ one: world.stdio({}) });
    const results = await Promise.all(Array.from({ length: 50 }, () => servers.connect("one")));
    expect(new Set(results).size).toBe(1);
    expect(world.log("started")).toHaveLength(1);
  });
});

describe("a server that does not start", () => {
  // A missing command became an unhandled error event, or a message that named neither the command nor the PATH.
  test("an unknown command is named, with the PATH it was searched in", async () => {
    const command = "no-such-command-of-toolgate";
    expect(await problem(world.script("", { command }))).toBe(
      "the command `no-such-command-of-toolgate` was not found in PATH (from the environment toolgate was started in)",
    );
    expect(await problem(world.script("", { command, env: { PATH: "/nowhere" } }))).toBe(
      "the command `no-such-command-of-toolgate` was not found in PATH (from this server's `env`)",
    );
    expect(await problem(world.script("", { command: "./missing" }))).toBe(
      "the command `./missing` does not exist (a path: PATH is not searched)",
    );
  });

  // PATH was built from an empty variable, and the program of that name in the working folder was started in place of the other.
  test.each(["", ":", ".", "./bin:", "bin"])(
    "a file of its own folder is not started by PATH `%s` (command-1)",
    async (path) => {
      for (const folder of [world.folder, join(world.folder, "bin")]) {
        mkdirSync(folder, { recursive: true });
        writeFileSync(
          join(folder, "planted"),
          `#!/bin/sh\necho planted > ${JSON.stringify(join(world.folder, "trace"))}\n`,
        );
        chmodSync(join(folder, "planted"), 0o755);
      }
      expect(await problem(world.script("", { command: "planted", env: { PATH: path } }))).toBe(
        "the command `planted` was not found in PATH (from this server's `env`), whose relative folders are not looked in",
      );
      expect(existsSync(join(world.folder, "trace"))).toBe(false);
    },
  );

  // `#!/usr/bin/env node` of a program that was found in its place started the `node` of the working folder.
  test("nor by a program that was started and looks a name up (stdio-1)", async () => {
    const tools = join(world.folder, "tools");
    mkdirSync(tools);
    writeFileSync(join(world.folder, "inner"), `#!/bin/sh\necho planted > trace\n`);
    writeFileSync(join(tools, "outer"), `#!/bin/sh\necho "$PATH" > path\ninner\nexit 3\n`);
    for (const file of [join(world.folder, "inner"), join(tools, "outer")]) chmodSync(file, 0o755);
    const env = { PATH: `:${tools}:.:/usr/bin:/bin:` };
    expect(await problem(world.script("", { command: "outer", args: [], env }))).toContain("ended with code 3");
    expect(existsSync(join(world.folder, "trace"))).toBe(false);
    expect(readFileSync(join(world.folder, "path"), "utf8")).toBe(`${tools}:/usr/bin:/bin\n`);
  });

  test("a program of an absolute folder is started, also from behind a relative one (command-1)", async () => {
    const tools = join(world.folder, "tools");
    mkdirSync(tools);
    writeFileSync(join(tools, "outer"), `#!/bin/sh\nexit 4\n`);
    writeFileSync(join(world.folder, "outer"), `#!/bin/sh\nexit 5\n`);
    for (const file of [join(tools, "outer"), join(world.folder, "outer")]) chmodSync(file, 0o755);
    expect(await problem(world.script("", { command: "outer", args: [], env: { PATH: `.:${tools}` } }))).toContain(
      "ended with code 4",
    );
  });

  test("a folder, and a file nobody may run, are told apart", async () => {
    mkdirSync(join(world.folder, "tool"));
    writeFileSync(join(world.folder, "plain"), "#!/bin/sh\n");
    chmodSync(join(world.folder, "plain"), 0o644);
    expect(await problem(world.script("", { command: "./tool" }))).toBe(
      "the command `./tool` is a folder, not a program",
    );
    expect(await problem(world.script("", { command: join(world.folder, "plain") }))).toBe(
      "the command `plain` is not executable",
    );
  });

  // A server worked in a shell and failed under its host, because its working folder was another one.
  test("a missing folder, or a file in its place, is found before the start", async () => {
    writeFileSync(join(world.folder, "file"), "");
    const at = (name: string) => world.script("", { cwd: join(world.folder, name) });
    expect(await problem(at("gone"))).toBe("the folder `gone` (`cwd` of this server) does not exist");
    expect(await problem(at("file"))).toBe("`file` (`cwd` of this server) is not a folder");
  });

  // A server that took longer than a fixed minute to start was given up without a message.
  test("one that stays silent is a problem in time, and its process is ended (open-2)", async () => {
    const servers = world.hub({ one: world.stdio({ duringStart: { do: "silent" } }) }, { connectTimeoutMs: 2_500 });
    expect(await servers.connect("one")).toEqual({ ok: false, problem: "it was not ready within 2500 ms" });
    await servers.close();
    expect(pids().filter(alive)).toEqual([]);
  });

  test("`close` does not wait for a server that is still starting", async () => {
    const servers = world.hub({ one: world.stdio({ duringStart: { do: "silent" } }) });
    const result = servers.connect("one");
    await vi.waitFor(() => expect(world.log("started")).toHaveLength(1), 10_000);
    await servers.close();
    expect(await result).toEqual({ ok: false, problem: "toolgate is closing" });
    expect(pids().filter(alive)).toEqual([]);
  });
});

describe("the protocol", () => {
  const oldServer = (onUnknown: string) => `
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method } = JSON.parse(line);
      require("node:fs").appendFileSync("asked", method + "\\n");
      const serverInfo = { name: "old", version: "0" };
      if (method === "initialize") console.log(JSON.stringify({ jsonrpc: "2.0", id,
        result: { protocolVersion: "2024-11-05", capabilities: {}, serverInfo } }));
      else if (id !== undefined) { ${onUnknown} }
    });`;

  test("an old server that ends at a request it does not know is greeted the old way (open-1)", async () => {
    const { connection } = await connect(world.script(oldServer("process.exit(1)")));
    expect(connection.protocol).toBe("2024-11-05");
  });

  test("an old server that is silent to a request it does not know is greeted on the same connection", async () => {
    const { connection } = await connect(world.script(oldServer("")), { connectTimeoutMs: 4_000 });
    expect(connection.protocol).toBe("2024-11-05");
  });

  test("a pinned revision is taken or refused", async () => {
    const old = world.script(oldServer("process.exit(1)"), { protocol: "2025-11-25" });
    expect(await problem(old)).toBe("Server's protocol version is not supported: 2024-11-05");
    expect(await problem(world.stdio({}, { protocol: "2026-07-28" }))).toMatch(/did not offer pinned protocol version/);
    const modern = await connect(world.stdio({ protocol: "2026-07-28" }, { protocol: "2026-07-28" }));
    expect(modern.connection.protocol).toBe("2026-07-28");
  });
});

describe("a server that babbles", () => {
  const calls = {
    noise: { do: "noise", bytes: 3_000_000 },
    longNoise: { do: "noise", bytes: 9_000_000 },
    twice: { do: "twice", second: { content: [] } },
    wrongId: { do: "wrongId" },
    split: { do: "split" },
    badUtf8: { do: "badUtf8" },
    stderr: { do: "stderrFlood", bytes: 100_000_000 },
    ask: { do: "ask", method: "sampling/createMessage", params: {} },
    progress: { do: "progress", everyMs: 20 },
  };
  const text = (words: string) => ({ result: { content: [{ type: "text", text: words }] } });

  // Log lines on stdout made clients restart a server in a loop. A server blocked on a stderr that nobody read. A client
  // hung for 40 minutes at bytes that were no UTF-8.
  test("noise, floods and odd bytes neither end the connection nor lose the answer (lines-2) (stdio-2)", async () => {
    const { servers, connection } = await connect(world.stdio({ calls, duringStart: { do: "noise" } }));
    const call = (tool: string) => connection.call(asks({ tool })).evidence;
    expect((await call("noise")).response).toEqual(text("done"));
    expect((await call("longNoise")).response).toEqual(text("done"));
    expect((await call("split")).response).toEqual(text("café"));
    expect((await call("badUtf8")).response).toEqual(text("\ufffd\ufffd"));
    expect((await call("stderr")).response).toEqual(text("done"));
    expect((await call("ask")).response).toEqual(text("done"));
    expect(world.log("reply")).toMatchObject([{ answer: { error: { code: -32601 } } }]);
    expect(servers.connection("one")).toBe(connection);
    expect(world.log("started")).toHaveLength(1);
  });

  test("two answers to one id: the first counts; an answer to nobody is none; the next call gets its own (pending-request-1)", async () => {
    const { connection } = await connect(world.stdio({ calls }));
    expect((await connection.call(asks({ tool: "twice" })).evidence).response).toEqual(text("done"));
    expect((await connection.call(asks({ tool: "wrongId", deadlineMs: 200 })).evidence).how).toBe("deadline");
    expect((await connection.call(asks()).evidence).response).toEqual(text("done"));
  });

  // Progress notifications moved the deadline of a call again and again, so that it never ended.
  test("progress does not move the deadline", async () => {
    const { connection } = await connect(world.stdio({ calls }));
    const sent = performance.now();
    expect((await connection.call(asks({ tool: "progress", deadlineMs: 300 })).evidence).how).toBe("deadline");
    expect(performance.now() - sent).toBeLessThan(1_300);
  });

  test("a message that is neither a result nor an error is an answer without a result", async () => {
    const code = `
      require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
        const { id, method } = JSON.parse(line);
        const result = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "x", version: "1" } };
        if (id === undefined) return;
        const more = method === "initialize" ? { result } : method === "tools/call" ? {} : { error: { code: -32601, message: "" } };
        console.log(JSON.stringify({ jsonrpc: "2.0", id, ...more }));
      });`;
    const { connection } = await connect(world.script(code));
    expect(await connection.call(asks()).evidence).toEqual({
      attempted: true,
      refused: false,
      how: "response",
      response: { result: undefined },
      bytes: 0,
    });
  });
});

describe("what a server is given, and what is left of it", () => {
  test("its environment is the default one and its own, nothing of ours (stdio-1)", async () => {
    process.env.TOOLGATE_SECRET = "a secret of the host";
    process.env.OTHER_OF_THE_HOST = "another";
    try {
      const config = world.stdio({ calls: { act: { do: "env" } } }, { env: { GIVEN: "yes" } });
      const { connection } = await connect(config);
      const { response } = await connection.call(asks()).evidence;
      const shown = JSON.stringify(response);
      expect(shown).toContain("GIVEN");
      expect(shown).toContain("PATH");
      expect(shown).not.toContain("TOOLGATE_");
      expect(shown).not.toContain("OTHER_OF_THE_HOST");
    } finally {
      delete process.env.TOOLGATE_SECRET;
      delete process.env.OTHER_OF_THE_HOST;
    }
  });

  test("a server that ignores the end of stdin and SIGTERM is gone after `close`, and so is what it started (stdio-4) (group-1)", async () => {
    const grandchild = { ignoresSigterm: true, holdsStdout: true };
    const { servers } = await connect(world.stdio({ stubborn: true, grandchild }));
    expect(pids().map(alive)).toEqual([true, true]);
    await servers.close();
    expect(pids().map(alive)).toEqual([false, false]);
  });

  test("a server that dies takes with it what it started, even if that holds its stdout", async () => {
    const grandchild = { ignoresSigterm: true, holdsStdout: true };
    const { connection } = await connect(world.stdio({ grandchild, calls: { act: { do: "dieAfter" } } }));
    expect((await connection.call(asks()).evidence).how).toBe("closed");
    await vi.waitFor(() => expect(pids().map(alive)).toEqual([false, false]), 10_000);
  });

  test("a server leads its own process group", async () => {
    await connect(world.stdio({}));
    const [pid] = pids();
    expect(() => process.kill(-(pid as number), 0)).not.toThrow();
  });

  test("a host that exits without closing leaves no server behind (group-2)", async () => {
    const adapter = pathToFileURL(sourceFile("adapters/mcp/pool")).href;
    const config = world.stdio({ stubborn: true, grandchild: { ignoresSigterm: true } });
    const code = `
      import { createServers } from ${JSON.stringify(adapter)};
      const servers = createServers({ one: ${JSON.stringify(config)} },
        { now: Date.now, redact: (text) => text, lateAnswerMs: 0 });
      console.log((await servers.connect("one")).ok);
      process.exit(0);`;
    const args = ["--input-type=module", "-e", code];
    const cwd = fileURLToPath(new URL("../..", import.meta.url));
    const host = spawn(process.execPath, args, { cwd, stdio: ["ignore", "pipe", "inherit"] });
    const [line] = await once(createInterface({ input: host.stdout }), "line");
    if (host.exitCode === null) await once(host, "exit");
    expect(line).toBe("true");
    await vi.waitFor(() => expect(pids().map(alive)).toEqual([false, false]));
  });
});
