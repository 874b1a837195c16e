// Which names of servers are refused, alone and together.

import { describe, expect, it } from "vitest";
import { load, refusalOf } from "./support.js";

const config = (names: readonly string[], serverName?: string) =>
  JSON.stringify({
    mcpServers: Object.fromEntries(names.map((name) => [name, { command: "x" }])),
    ...(serverName === undefined ? {} : { catalog: { limits: { serverName } } }),
  });
const refused = async (...names: string[]) => (await refusalOf(() => load(config(names)))).message;

describe("two names that could give two tools one alias (config-server-3)", () => {
  it.each([
    ["equal once mapped", "docs.one", "docs_one"],
    ["equal once mapped, no Latin letter left", "数据", "文档"],
    ["one the beginning of the other, across `__`", "a", "a__b"],
    ["the other way round", "a__b", "a"],
    ["one ends where the separator begins", "a", "a_"],
  ])("%s", async (_, one, other) => {
    expect(await refused(one, other)).toMatch(
      new RegExp(`^toolgate.json:1:\\d+: server \`${other}\` and server \`${one}\` could give two tools one name$`),
    );
  });

  it("names that only look alike stand side by side", () => {
    for (const names of [
      ["a", "ab"],
      ["a", "a-b"],
      ["a_b", "a_c"],
      ["docs", "Docs"],
    ])
      expect(Object.keys(load(config(names)).config.mcpServers)).toEqual(names);
  });
});

describe("names that are refused (config-server-2)", () => {
  it.each([
    ["local", "has the name of toolgate's own tools"],
    ["", "has no name"],
    ["a*", "has a name no rule could name"],
    ["a(b)", "has a name no rule could name"],
    ["a\u202eb", "has a name with characters nobody can see"],
    ["a\nb", "has a name with characters nobody can see"],
    [" a", "has a name with characters nobody can see"],
  ])("%j", async (name, problem) => {
    expect(await refused(name)).toContain(problem);
  });

  it("a name outside the host's own pattern", async () => {
    const pattern = "[a-z][a-z0-9-]{0,15}";
    expect(await refusalOf(() => load(config(["docs", "../docs"], pattern)))).toEqual({
      code: "config_invalid",
      message: "toolgate.json:1:39: server `../docs` is a name that `catalog.limits.serverName` does not take",
      hint: "rename it: names must match `[a-z][a-z0-9-]{0,15}`",
    });
    expect(Object.keys(load(config(["docs"], pattern)).config.mcpServers)).toEqual(["docs"]);
  });

  it("the pattern must match the whole name, also when it has alternatives", async () => {
    expect((await refusalOf(() => load(config(["xa"], "a|b")))).code).toBe("config_invalid");
    expect((await refusalOf(() => load(config(["ax"], "a|b")))).code).toBe("config_invalid");
  });
});

it("without a pattern a name is a label like any other (config-server-2)", () => {
  const names = ["../docs", "My Server", "constructor", "获取", "a.b"];
  expect(Object.keys(load(config(names)).config.mcpServers)).toEqual(names);
});
