// `run` with a question and `tools` start the servers while the agent is loaded. What is told of the servers, and how often they
// are started, is the same as if they had been started when they were first listed.

import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ConnectResult, Servers } from "../../src/contracts/mcp-port.js";
import { startedOf } from "../../src/create/early.js";
import { inProcess } from "./in-process.js";
import { Workspace } from "./support.js";

type Event = { server: string; kind: string; detail?: string };

/** Servers whose connects the test answers. `alive` is whether the one connection still lives. */
function pool() {
  const listeners = new Set<(event: Event) => void>();
  const connects: { name: string; answer: (result: ConnectResult) => void }[] = [];
  const servers: Servers = {
    names: ["s", "t"],
    connect: (name) => new Promise((answer) => connects.push({ name, answer })),
    connection: () => undefined,
    generation: () => 0,
    onEvent: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: async () => undefined,
  };
  return { servers, connects, say: (event: Event) => listeners.forEach((listener) => void listener(event)) };
}

describe("servers that were started early", () => {
  test("are connected once, and a failed start is the answer to the first connect alone (early-1)", async () => {
    const { servers, connects } = pool();
    const early = startedOf(servers, ["s"]);
    expect(connects.map(({ name }) => name)).toEqual(["s"]);
    connects[0]?.answer({ ok: false, problem: "it is broken" });
    expect(await early.connect("s")).toEqual({ ok: false, problem: "it is broken" });
    expect(connects).toHaveLength(1);
    const again = early.connect("s");
    connects[1]?.answer({ ok: false, problem: "still broken" });
    expect(await again).toEqual({ ok: false, problem: "still broken" });
  });

  test("tell what happened to them when they are first connected, in order, and from then on at once (early-2)", async () => {
    const { servers, connects, say } = pool();
    const early = startedOf(servers, ["s"]);
    const told: string[] = [];
    early.onEvent(() => {
      throw new Error("a listener that fails");
    });
    early.onEvent(({ server, kind }) => told.push(`${server} ${kind}`));
    say({ server: "s", kind: "connecting" });
    say({ server: "t", kind: "connecting" });
    say({ server: "s", kind: "failed" });
    expect(told).toEqual(["t connecting"]);
    connects[0]?.answer({ ok: false, problem: "x" });
    await early.connect("s");
    say({ server: "s", kind: "closed" });
    expect(told).toEqual(["t connecting", "s connecting", "s failed", "s closed"]);
  });
});

describe("the command", () => {
  let place: Workspace;
  beforeEach(() => {
    place = new Workspace();
    place.write("starts.mjs", SERVER);
  });
  afterEach(() => place.end());

  const file = (name: string) => join(place.folder, name);
  const starts = () => (existsSync(file("starts")) ? readFileSync(file("starts"), "utf8").trim().split("\n") : []);
  const run = (...words: string[]) => inProcess([...words, "--config", file("toolgate.json")]);

  /** A server that notes its process id, and then ends or never answers. */
  const SERVER = `import { appendFileSync } from "node:fs";
    appendFileSync(process.argv[2], process.pid + "\\n");
    if (process.argv[3] === "ends") { console.error("no licence"); process.exit(7); }
    setInterval(() => {}, 1000);`;
  const configure = (how: "ends" | "waits", more: object = {}) =>
    place.configure([{ say: "hello" }], {
      mcpServers: {
        bad: {
          command: process.execPath,
          args: [file("starts.mjs"), file("starts"), how],
          protocol: "2025-11-25", // one start is one try: no second one with an older handshake
        },
      },
      ...more,
    });

  test("starts a server that fails as often as when it is first listed, and says so in the same words (early-1)", async () => {
    configure("ends");
    const { code, stdout, stderr } = await run("run", "hi", "--thread", "t");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "hello\n" });
    expect(stderr.split("\n")).toEqual([
      "thread: t",
      expect.stringMatching(/^server `bad` is not available: .*code 7.*no licence.*; the run goes on without it$/),
      "",
    ]);
    expect(starts()).toHaveLength(1);
  });

  test.each([
    ["reads records", ["threads"]],
    ["lists approvals", ["approvals"]],
    ["goes on with a thread that is not there", ["run", "--thread", "nowhere"]],
    ["answers what is not asked", ["approve", "nothing"]],
    ["shows a snapshot that was kept", ["tools", "--snapshot", "0"]],
    ["has no question to ask", ["run", " "]],
  ])("starts no server where it %s", async (_, words) => {
    configure("waits");
    await run(...words);
    expect(starts()).toEqual([]);
  });

  test("starts no server with a configuration that is refused", async () => {
    configure("waits", { permissions: { allow: ["mcp__nowhere__*", "("] } });
    const { code, stdout } = await run("run", "hi", "--json");
    expect([code, JSON.parse(stdout).error.code]).toEqual([1, "config_invalid"]);
    expect(starts()).toEqual([]);
  });

  test("ends the servers it started when the store cannot be opened", async () => {
    mkdirSync(file("store"));
    place.write("store/toolgate.sqlite", "no database, but long enough to be read as one: ".repeat(100));
    configure("waits", { store: { kind: "sqlite", path: "store" } });
    const { code, stdout } = await run("run", "hi", "--json");
    expect([code, JSON.parse(stdout).error.code]).toEqual([1, "store_failed"]);
    expect(process.getActiveResourcesInfo()).not.toContain("ProcessWrap"); // no child of this process lives
  });
});
