// The lock file: what it says, what is refused, and two that write it at once.

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readConfig, resolveConfig } from "../../src/adapters/config/load.js";
import { readLock, textFor, writePins } from "../../src/adapters/config/lock.js";
import { sha256 } from "../../src/contracts/index.js";
import { createToolgate } from "../../src/index.js";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "toolgate-lock-"));
  path = join(folder, "toolgate.lock.json");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const pins = (...names: string[]) => ({
  tools: names.map((name) => ({
    name,
    digest: sha256(name),
    description: `Does ${name}.`,
    inputSchema: { type: "object" },
  })),
});
const read = () => readLock({ path, required: false });
const names = async () => Object.keys((await read())?.servers ?? {}).sort();

describe("what is written (lock-1)", () => {
  test("the same pins are the same text, whatever the order of keys and servers", () => {
    const [docs, shop] = [pins("a"), pins("b")];
    const turned = { tools: docs.tools.map((tool) => Object.fromEntries(Object.entries(tool).reverse()) as never) };
    expect(textFor({ shop, docs: turned })).toBe(textFor({ docs, shop }));
    expect(
      textFor({ docs: pins("a") })
        .split("\n")
        .slice(1, 4),
    ).toEqual([expect.stringMatching(/^ {2}"digest": "[0-9a-f]{64}",$/), '  "servers": {', '    "docs": {']);
  });

  test("pins of other servers stay, those of the same server are replaced, and nothing is left beside the file", async () => {
    expect(await writePins(path, { docs: pins("a"), shop: pins("b") })).toBeUndefined();
    const before = await writePins(path, { shop: pins("c") });
    expect(Object.keys(before?.servers ?? {})).toEqual(["docs", "shop"]);
    const tools = Object.entries((await read())?.servers ?? {}).map(([name, server]) => [
      name,
      server.tools.map((one) => one.name),
    ]);
    expect(tools).toEqual([
      ["docs", ["a"]],
      ["shop", ["c"]],
    ]);
    expect(readdirSync(folder)).toEqual(["toolgate.lock.json"]);
  });

  // Two people pinned a server each at the same time, and the file had one of them.
  test("of many that pin at once none loses what another pinned (lock-3)", async () => {
    const all = Array.from({ length: 12 }, (_, n) => `server${String(n).padStart(2, "0")}`);
    await Promise.all(all.map((name) => writePins(path, { [name]: pins(name) })));
    expect(await names()).toEqual(all);
    expect(readdirSync(folder)).toEqual(["toolgate.lock.json"]);
  });

  test("a process that died in the middle of it stops nobody for long", async () => {
    writeFileSync(`${path}.writing`, "dead");
    const past = new Date(Date.now() - 60_000);
    utimesSync(`${path}.writing`, past, past);
    await writePins(path, { docs: pins("a") });
    expect(await names()).toEqual(["docs"]);
    expect(readdirSync(folder)).toEqual(["toolgate.lock.json"]);
  });

  test("a broken file is not written over", async () => {
    writeFileSync(path, "<<<<<<< ours");
    await expect(writePins(path, { docs: pins("a") })).rejects.toMatchObject({ code: "config_invalid" });
    expect(readFileSync(path, "utf8")).toBe("<<<<<<< ours");
    expect(existsSync(`${path}.writing`)).toBe(false);
  });
});

describe("what is refused (lock-2)", () => {
  const good = () => JSON.parse(textFor({ docs: pins("a", "b"), shop: pins("c") }));
  const HINT = "take it back from version control; or remove it, run `toolgate pin` and look through what that pins";
  // A server was taken out of the file by hand, so that nobody would be asked about its new tools.
  test.each<[string, () => unknown, string]>([
    [
      "a server was taken out",
      () => ({ ...good(), servers: { docs: pins("a", "b") } }),
      "was changed by hand, or merged",
    ],
    [
      "a tool was added",
      () => ({ ...good(), servers: { ...good().servers, shop: pins("c", "d") } }),
      "was changed by hand",
    ],
    [
      "a description was changed",
      () => JSON.parse(JSON.stringify(good()).replace("Does a.", "Does b.")),
      "was changed by hand",
    ],
    ["a key was added", () => ({ ...good(), more: 1 }), "does not say what a lock file says"],
    ["it is of a later version", () => ({ ...good(), version: 2 }), "has version 2; this toolgate reads version 1"],
    ["it is a list", () => [], "does not say what a lock file says"],
    ["it is null", () => null, "does not say what a lock file says"],
  ])("%s", async (_, content, says) => {
    writeFileSync(path, JSON.stringify(content()));
    await expect(read()).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringContaining(says),
      hint: HINT,
    });
  });

  test("text that is no JSON, with the place", async () => {
    writeFileSync(path, '{\n"version": 1,\n<<<<<<< ours\n');
    const message = expect.stringContaining("is no JSON in line 3, column 1");
    await expect(read()).rejects.toMatchObject({ code: "config_invalid", message, hint: HINT });
  });

  test("a folder in its place", async () => {
    await expect(readLock({ path: folder, required: false })).rejects.toMatchObject({ code: "config_unreadable" });
  });
});

describe("which file it is", () => {
  test("beside the configuration file, or the one that the configuration names", async () => {
    const write = (config: object) => writeFileSync(join(folder, "toolgate.json"), JSON.stringify(config));
    write({});
    const { config } = await readConfig(join(folder, "toolgate.json"), {});
    expect(config.lock).toEqual({ path, required: false });
    write({ lock: "locks/here.json" });
    const named = await readConfig(join(folder, "toolgate.json"), {});
    expect(named.config.lock).toEqual({ path: join(folder, "locks", "here.json"), required: true });
  });

  test("of a configuration that is given as a value, the one that it names and no other", async () => {
    const options = { folder, env: {} };
    writeFileSync(path, "broken");
    expect(resolveConfig({}, options).config.lock).toBeUndefined();
    expect(resolveConfig({ lock: "toolgate.lock.json" }, options).config.lock).toEqual({ path, required: true });
  });

  // The image was built without the file that the configuration named, and every tool ran that a glob allowed.
  test("a named file that is missing, and a broken one, let no agent start", async () => {
    const store = { kind: "memory" };
    const missing = createToolgate({ config: { store, lock: path } });
    await expect(missing).rejects.toMatchObject({
      code: "config_unreadable",
      message: expect.stringContaining("there is no such file"),
      hint: "write it with `toolgate pin`, or take `lock` out of the configuration",
    });
    writeFileSync(path, "broken");
    await expect(createToolgate({ config: { store, lock: path } })).rejects.toMatchObject({ code: "config_invalid" });
  });
});
