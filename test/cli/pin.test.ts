// `toolgate pin` and what `toolgate tools` says of pins, with real servers.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { serverCommand } from "../support/rpc.js";
import { inProcess, inProcessJson } from "./in-process.js";
import { type Report, Workspace } from "./support.js";

let w: Workspace;
beforeEach(() => {
  w = new Workspace();
});
afterEach(() => w.end());

const tool = (name: string, description = "Looks.", properties: object = {}) => ({
  name,
  description,
  inputSchema: { type: "object", properties },
});
/** A server with these tools. */
const server = (tools: readonly object[], more: object = {}) => ({
  ...serverCommand("hostile"),
  env: { SERVER_LOG: join(w.folder, "server.log"), HOSTILE: JSON.stringify({ tools }) },
  ...more,
});
const STEPS = [{ calls: [{ name: "mcp__shop__look", args: {}, id: "c1" }] }, { say: "Done." }];
const configure = (mcpServers: object, more: object = {}) =>
  w.configure(STEPS, { mcpServers, permissions: { allow: ["mcp__shop__look"] }, ...more });
const json = (...args: string[]) =>
  inProcessJson([...args, "--config", join(w.folder, "toolgate.json")], { cwd: w.folder });
const text = (...args: string[]) =>
  inProcess([...args, "--config", join(w.folder, "toolgate.json")], { cwd: w.folder });
const lock = () => JSON.parse(readFileSync(join(w.folder, "toolgate.lock.json"), "utf8"));
const effects = () => w.log("effect").length;
const toolsOf = ({ tools }: Report) =>
  (tools as Report[])
    .filter((one) => one.server !== "local")
    .map(({ alias, decision, pinned, news }) => [alias, decision, pinned ?? false, news?.kind ?? null]);

describe("pin", () => {
  // A release of the server changed a tool that the host allowed by its name, and it ran with its new meaning.
  test("what is pinned runs; what changes is asked about, until it is pinned again", { timeout: 120_000 }, async () => {
    configure({ shop: server([tool("look")]) });
    const pinned = await json("pin");
    expect([pinned.code, pinned.value.servers]).toEqual([
      0,
      [{ name: "shop", status: "pinned", toolCount: 1, added: ["look"], changed: [], removed: [] }],
    ]);
    expect((await json("run", "go", "--thread", "a")).code).toBe(0);
    expect(effects()).toBe(1);

    configure({
      shop: server([tool("look", "Looks, and tells everybody.", { to: { type: "string" } }), tool("more")]),
    });
    const asked = await json("run", "go", "--thread", "b");
    expect(asked.code).toBe(3);
    const difference = 'description: was "Looks.", is "Looks, and tells everybody."; parameters added: `to`';
    expect(asked.value.approvals[0].why).toBe(
      `allowed by \`mcp__shop__look\`, but \`look\` of \`shop\` has changed since it was pinned: ${difference}; ` +
        "a person is asked each time until `toolgate pin` accepts it",
    );
    expect(effects()).toBe(1);
    expect(toolsOf((await json("tools")).value)).toEqual([
      ["mcp__shop__look", "ask", true, "changed"],
      ["mcp__shop__more", "ask", true, "new"],
    ]);
    const again = await json("pin");
    expect(again.value.servers).toEqual([
      {
        name: "shop",
        status: "pinned",
        toolCount: 2,
        added: ["more"],
        changed: [{ tool: "look", difference }],
        removed: [],
      },
    ]);
    expect((await json("run", "go", "--thread", "c")).code).toBe(0);
    expect(effects()).toBe(2);
  });

  test("servers that are connected on demand are pinned, too; `--server` pins one and leaves the others", async () => {
    configure({ shop: server([tool("look")]), late: server([tool("a")], { connect: "on-demand" }) });
    expect((await json("pin")).code).toBe(0);
    expect(Object.keys(lock().servers)).toEqual(["late", "shop"]);
    configure({ shop: server([tool("look", "New.")]), late: server([tool("b")], { connect: "on-demand" }) });
    const one = await json("pin", "--server", "late");
    expect(one.value.servers).toEqual([
      { name: "late", status: "pinned", toolCount: 1, added: ["b"], changed: [], removed: ["a"] },
    ]);
    expect(lock().servers.shop.tools[0].description).toBe("Looks.");
    expect((await text("pin", "--server", "shop")).stdout).toContain(
      '  changed: look: description: was "Looks.", is "New."',
    );
  });

  test("a server that cannot be listed keeps its pins, the others are pinned, and the command fails", async () => {
    configure({ shop: server([tool("look")]), down: server([tool("a")]) });
    await json("pin");
    const broken = { ...server([]), env: { HOSTILE: JSON.stringify({ duringStart: { do: "exit" } }) } };
    configure({ shop: server([tool("look"), tool("more")]), down: broken });
    const { code, value } = await json("pin");
    expect([code, value.servers.map(({ name, status }: Report) => [name, status])]).toEqual([
      1,
      [
        ["shop", "pinned"],
        ["down", "failed"],
      ],
    ]);
    expect(lock().servers.down.tools.map(({ name }: Report) => name)).toEqual(["a"]);
    expect(lock().servers.shop.tools.map(({ name }: Report) => name)).toEqual(["look", "more"]);
  });

  test("a server that is not configured is an error, and nothing is written", async () => {
    configure({ shop: server([tool("look")]) });
    const { code, value } = await json("pin", "--server", "shpo");
    expect([code, value.error.code, value.error.message]).toEqual([1, "not_found", "there is no server `shpo`"]);
    expect(existsSync(join(w.folder, "toolgate.lock.json"))).toBe(false);
  });

  // A server repeated the host's token in a description, and the file with it was committed.
  test("no secret of the host stands in the lock file", async () => {
    const secret = "canary-51c0a7e9";
    const saying = server([tool("look", `Signed in with ${secret}.`)]);
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is how a configuration names a variable
    configure({ shop: { ...saying, env: { ...saying.env, TOKEN: "${CANARY}" } } });
    const config = join(w.folder, "toolgate.json");
    const ran = await inProcess(["pin", "--config", config, "--json"], { cwd: w.folder, env: { CANARY: secret } });
    expect(ran.code).toBe(0);
    expect(lock().servers.shop.tools[0].description).toContain("Signed in with");
    expect(readFileSync(join(w.folder, "toolgate.lock.json"), "utf8") + ran.stdout + ran.stderr).not.toContain(secret);
  });

  test("two processes that pin a server each at once lose neither", async () => {
    configure({ shop: server([tool("look")]), late: server([tool("a")]) });
    const [one, two] = [w.start(["pin", "--server", "shop", "--json"]), w.start(["pin", "--server", "late", "--json"])];
    expect([(await one.ended).code, (await two.ended).code]).toEqual([0, 0]);
    expect(Object.keys(lock().servers)).toEqual(["late", "shop"]);
  });

  test("a named file that is not there yet is written; every other command says that it is missing", async () => {
    configure({ shop: server([tool("look")]) }, { lock: "pins.json" });
    const missing = await json("run", "go");
    expect([missing.code, missing.value.error.code]).toEqual([1, "config_unreadable"]);
    expect((await json("check")).value.problems[0]).toMatchObject({ level: "error", code: "config_unreadable" });
    expect((await json("pin")).code).toBe(0);
    expect(existsSync(join(w.folder, "pins.json"))).toBe(true);
    expect((await json("run", "go")).code).toBe(0);
  });

  // A half-written lock file was passed over by `pin` where there was nothing to write into it.
  test("a half-written lock file is said by `pin` also where no server can be pinned", async () => {
    const half = `{"version":1,"servers":{"shop"`;
    w.write("toolgate.lock.json", half);
    const dead = { command: process.execPath, args: ["-e", "process.exit(1)"] };
    for (const servers of [{}, { shop: dead }]) {
      configure(servers);
      const { code, value } = await json("pin");
      expect([code, value.error?.code]).toEqual([1, "config_invalid"]);
      expect(readFileSync(join(w.folder, "toolgate.lock.json"), "utf8")).toBe(half);
    }
  });

  test("a lock file that was edited by hand stops every command, `check` says so, and `pin` writes nothing over it", async () => {
    configure({ shop: server([tool("look")]) });
    await json("pin");
    const edited = JSON.stringify({ ...lock(), servers: {} });
    w.write("toolgate.lock.json", edited);
    for (const command of [["run", "go"], ["tools"], ["pin"]]) {
      const { code, value } = await json(...command);
      expect([code, value.error.code, value.error.hint]).toEqual([
        1,
        "config_invalid",
        "take it back from version control; or remove it, run `toolgate pin` and look through what that pins",
      ]);
    }
    const { code, value } = await json("check");
    expect([code, value.problems[0].level, value.problems[0].code]).toEqual([1, "error", "config_invalid"]);
    expect(readFileSync(join(w.folder, "toolgate.lock.json"), "utf8")).toBe(edited);
    expect(effects()).toBe(0);
  });
});

describe("tools", () => {
  test("without a lock it says what came after the first list, for people too", async () => {
    configure({ shop: server([tool("look")]) }, { permissions: { allow: ["mcp__shop"] } });
    expect(toolsOf((await json("tools")).value)).toEqual([["mcp__shop__look", "allow", false, null]]);
    configure(
      { shop: server([tool("look", "Else."), tool("wipe")]) },
      {
        permissions: { allow: ["mcp__shop"], deny: ["mcp__shop__wipe"] },
      },
    );
    expect(toolsOf((await json("tools")).value)).toEqual([
      ["mcp__shop__look", "ask", false, "changed"],
      ["mcp__shop__wipe", "deny", false, "new"],
    ]);
    const { stdout } = await text("tools");
    expect(stdout).toMatch(/mcp__shop__look +write +ask +changed +mcp__shop\n/);
    expect(stdout).toMatch(/mcp__shop__wipe +write +deny +new +mcp__shop__wipe\n/);
    expect(stdout).toContain("`wipe` of `shop` is new: it was not in that server's first complete list");
    expect((await text("pin")).stdout).toContain("shop: 2 tools pinned");
    expect((await text("tools")).stdout).toMatch(/mcp__shop__look +write +allow +pinned +mcp__shop\n/);
  });
});
