// Which values of a configuration are secrets.

import { describe, expect, it } from "vitest";
import { load, ref } from "./support.js";

const secrets = (value: unknown, env: Record<string, string> = {}) => load(JSON.stringify(value), env).config.secrets;
const server = (value: unknown, env: Record<string, string> = {}) => secrets({ mcpServers: { s: value } }, env);

describe("secret by where it stands (secrets-1)", () => {
  it("what was filled in from the environment, wherever", () => {
    const env = { ONE: "first-value", TWO: "second-value-2" };
    expect(server({ command: "x", args: [`--x=${ref("ONE")}`], env: { N: ref("TWO") } }, env)).toEqual([
      "second-value-2",
      "first-value",
    ]);
  });

  it("a default that stands in the file is no secret", () => {
    expect(server({ command: "x", env: { N: ref("UNSET", "default-value") } })).toEqual([]);
  });

  it("header values, whole and without their scheme, longest first", () => {
    const headers = { Authorization: `Bearer ${ref("TOKEN")}`, "X-Tenant": "tenant-17", Accept: "application/json" };
    expect(server({ url: "https://example.org", headers }, { TOKEN: "tok-123456" })).toEqual([
      "Bearer tok-123456",
      "tok-123456",
      "tenant-17",
    ]);
  });

  it("the approvals secret", () => {
    const secret = "0123456789abcdef0123456789abcdef";
    expect(secrets({ approvals: { secret } })).toEqual([secret]);
  });

  it("what a name calls a secret: environment, arguments, query", () => {
    const env = { API_KEY: "key-0001", GITHUB_TOKEN: "tok-0002", MAX_TOKENS: "100000", GIT_AUTHOR_NAME: "somebody" };
    const args = ["--token", "tok-0003", "--api-key=key-0004", "--author", "somebody", "--token", "--verbose"];
    expect(server({ command: "x", args, env }).toSorted()).toEqual(["key-0001", "key-0004", "tok-0002", "tok-0003"]);
    expect(server({ url: "https://example.org/mcp?key=key-0005&page=long-value" })).toEqual(["key-0005"]);
  });

  it("the password of a connection string, as written and decoded", () => {
    const url = "postgres://me:p%40ssword@db/x";
    expect(secrets({ store: { kind: "postgres", url: ref("DB") } }, { DB: url })).toEqual([
      url,
      "p%40ssword",
      "p@ssword",
    ]);
  });
});

it("values shorter than 6 characters are not redacted (secrets-2)", () => {
  expect(server({ command: "x", env: { TOKEN: "12345", KEY: "123456" } })).toEqual(["123456"]);
  expect(secrets({ model: ref("V") }, { V: "12345" })).toEqual([]);
});

it("what every session has is no secret (secrets-3)", () => {
  expect(server({ command: "x", args: [`${ref("HOME")}/data`] }, { HOME: "/home/somebody" })).toEqual([]);
});
