import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HumanMessage } from "@langchain/core/messages";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { resolveModel } from "../../src/adapters/model/resolve.js";
import type { ScriptedModel } from "../../src/testing.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "toolgate-model-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
  vi.unstubAllEnvs();
});

function script(text: string): string {
  const path = join(folder, "script.json");
  writeFileSync(path, text);
  return `scripted:${path}`;
}

const CALL_TWICE = '{"name":"t","args":{"a":1,"a":2}}';
const TWICE = `{"calls":[${CALL_TWICE}]}`;
const ask = [new HumanMessage("hi")];

describe("resolving a model", () => {
  it("opens a script", async () => {
    const model = await resolveModel(script('[{"say":"hello"}]'));
    expect((await model.invoke(ask)).content).toBe("hello");
  });

  it("makes invalid calls, not a broken file, of arguments that name a key twice", async () => {
    const text =
      '[ {"calls": [ {"name":"t","args": {"a": {"b": "}"}, "a":2} }, {"args":{"x":1},"name":"u"} ]}, {"say":"{"} ]';
    const message = await (await resolveModel(script(text))).invoke(ask);
    expect(message.invalid_tool_calls?.map((call) => call.args)).toEqual(['{"a": {"b": "}"}, "a":2}']);
    expect(message.tool_calls?.map((call) => call.args)).toEqual([{ x: 1 }]);
  });

  it.each([
    ["no escape of JSON", '{"a":"\\q"}'],
    ["a number too large for a double", '{"a":1e999}'],
    ["a word that JSON does not have", '{"a":[nope, {"b":"]"}]}'],
    ["nesting without end", `{"a":${"[".repeat(500)}${"]".repeat(500)}}`],
  ])("makes an invalid call, with its text as it stands, of arguments with %s (script-1)", async (_, args) => {
    const text = `[{"calls":[{"name":"t","args":${args}},{"name":"u","args":{"x":1}}]}]`;
    const message = await (await resolveModel(script(text))).invoke(ask);
    expect(message.invalid_tool_calls?.map((call) => call.args)).toEqual([args]);
    expect(message.tool_calls?.map((call) => call.args)).toEqual([{ x: 1 }]);
  });

  // A script of 120 KB kept the process busy for minutes: the text was searched again from each quote of a string without end.
  it.each([
    ["a string without end, full of escaped quotes", `[{"say":"${'\\"'.repeat(450_000)}`, "refused"],
    ["brackets without end behind arguments that name a key twice", `[${TWICE},${'[{"a":'.repeat(150_000)}`, "refused"],
    [
      "15,000 calls whose arguments name a key twice",
      `[{"calls":[${`${CALL_TWICE},`.repeat(15_000)}${CALL_TWICE}]}]`,
      "read",
    ],
    [
      "arguments without end in each of 15,000 calls",
      `[{"calls":[${'{"name":"t","args":{"a":1,"a":['.repeat(15_000)}`,
      "refused",
    ],
  ])("reads %s in one pass (script-2)", async (_, text, told) => {
    const path = script(text);
    const before = process.cpuUsage();
    expect(
      await resolveModel(path).then(
        () => "read",
        () => "refused",
      ),
    ).toBe(told);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(3_000); // processor time: quadratic, it is more than a minute
  });

  it.each([
    ["no array", "{}", "Invalid input: expected array, received object"],
    ["an unknown key", '[{"says":"x"}]', 'at `0`: Unrecognized key: "says"'],
    ["a call without a name", '[{"calls":[{}]}]', "at `0.calls.0.name`"],
    ["broken JSON", '[{"say":"x",}]', "at line 1, column 13"],
    ["a key twice in a step", '[{"say":"x","say":"y"}]', "the key `say` stands twice"],
  ])("refuses a script with %s", async (_, text, message) => {
    await expect(resolveModel(script(text))).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringContaining(message),
    });
  });

  it("says when a script does not exist", async () => {
    await expect(resolveModel(`scripted:${join(folder, "none.json")}`)).rejects.toMatchObject({
      code: "model_missing",
      hint: "check the path after `scripted:`; in a configuration it is relative to that file",
    });
  });

  it.each([
    [undefined, "no model is configured", "scripted:script.json"],
    [" ", "no model is configured", "scripted:script.json"],
    ["anthropic:claude-x", "needs the package `@langchain/anthropic`", "npm install @langchain/anthropic"],
    ["openai:gpt-x", "has no key", "OPENAI_API_KEY"],
    ["something-else", "names no provider that is known", "write it as provider:model"],
    ["nobody:gpt", "names no provider that is known", "write it as provider:model"],
  ])("says what is missing for %s", async (name, message, hint) => {
    for (const key of ["OPENAI_API_KEY", "LANGSMITH_API_KEY", "LANGSMITH_GATEWAY_API_KEY"]) vi.stubEnv(key, "");
    await expect(resolveModel(name)).rejects.toMatchObject({
      name: "ToolgateError",
      code: "model_missing",
      message: expect.stringContaining(message),
      hint: expect.stringContaining(hint),
    });
  });

  it("does not repeat a key in what it says", async () => {
    vi.stubEnv("OPENAI_API_KEY", "");
    const error = await resolveModel("openai:gpt-x").catch((thrown: Error) => thrown);
    expect((error as Error).message).toBe("the model `openai:gpt-x` has no key");
  });

  it("opens a provider's model, and no caller of a run can choose another (model-1)", async () => {
    vi.stubEnv("OPENAI_API_KEY", "test-key");
    const model = await resolveModel("openai:gpt-x");
    const opened = model as unknown as { _getModelInstance(config: object): Promise<{ model: string }> };
    const chosen = await opened._getModelInstance({ configurable: { model: "gpt-other", modelProvider: "openai" } });
    expect(chosen.model).toBe("gpt-x");
  });

  it("gives each script a model of its own", async () => {
    const name = script('[{"say":"x"}]');
    const [one, two] = [(await resolveModel(name)) as ScriptedModel, (await resolveModel(name)) as ScriptedModel];
    await one.invoke(ask);
    expect([one.requests.length, two.requests.length]).toEqual([1, 0]);
  });
});
