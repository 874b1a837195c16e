// Which values of a configuration are secrets.

import { describe, expect, it } from "vitest";
import { createRedactor } from "../../src/observation/redact.js";
import { load, ref } from "./support.js";

/** What is taken out of text, longest first. */
function secrets(value: unknown, env: Record<string, string> = {}): string[] {
  const { config } = load(JSON.stringify(value), env);
  return [...config.secrets, ...config.literalSecrets].sort((a, b) => b.length - a.length);
}
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

/** The arguments, and the value in them that is secret. */
const HELD: [string[], string][] = [
  [["--header", "Authorization: Bearer abc12345"], "abc12345"],
  [["-H", "X-Tenant: tenant-17"], "tenant-17"],
  [["--header=Authorization:Bearer abcdefgh"], "abcdefgh"],
  [["--headers", "X-Api-Key:abcdefgh"], "abcdefgh"],
  [["Authorization=Bearer abcdefgh"], "abcdefgh"],
  [["-c", "npx remote --header 'Authorization: Bearer abcdefgh' --debug"], "abcdefgh"],
  [["-c", "API_KEY=abc12345 npx server --verbose"], "abc12345"],
  [["postgres://u:pass-word@h/db"], "pass-word"],
  [["postgres://u:p%40s^word@h/db"], "p%40s^word"],
  [["--dsn=postgres://u:pass/word@h/db"], "pass/word"],
  [["mongodb://u:pass-word@h1:27017,h2:27017/db"], "pass-word"],
  [["jdbc:postgresql://h/db?user=u&password=pass-word"], "pass-word"],
  [["https://example.org/mcp?x=1&access_token=a%2Fb1234"], "a%2Fb1234"],
  [["https://abcd1234@example.org/repo.git"], "abcd1234"],
  [["Server=db;User Id=me;Password=pass-word;Encrypt=true"], "pass-word"],
  [["host=db password=pass-word user=me"], "pass-word"],
  [["-e", "API_KEY=abcdefgh"], "abcdefgh"],
  [["--env", "API_KEY=abcdefgh"], "abcdefgh"],
  [["--env=API_KEY=abcdefgh"], "abcdefgh"],
  [["-eAPI_KEY=abcdefgh"], "abcdefgh"],
  [["API_KEY=abcdefgh"], "abcdefgh"],
  [["--password", "two words"], "two words"],
  [["--password=two;words"], "two;words"],
  [["--pat", "abcdefgh"], "abcdefgh"],
  [["AZURE_PAT=abcdefgh"], "abcdefgh"],
  [['{"Authorization":"Bearer abcdefgh","Notion-Version":"2022-06-28"}'], "abcdefgh"],
  ...[
    "sk-proj-abcdefgh12345678",
    "ghp_abcdefghijklmnop1234",
    "gho_abcdefghijklmnop1234",
    "github_pat_11ABCDEFG0abcdefghij",
    "xoxb-1234567890-abcdef",
    "AKIAIOSFODNN7EXAMPLE",
    "glpat-abcdefghij1234567890",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
  ].flatMap((token): [string[], string][] => [
    [[token], token],
    [[`run:${token}, then stop`], token],
  ]),
];

describe("secrets inside of an argument or a variable (secrets-1)", () => {
  it.each(HELD)("%j", (args, secret) => {
    const redact = createRedactor(server({ command: "x", args }));
    expect(args.map(redact).join(" ")).not.toContain(secret);
    expect(redact(`<${secret}>`)).toBe("<[redacted]>"); // also where a server says it alone
  });

  it.each(HELD.filter(([args]) => args.length === 1))(
    "the same as the value of a variable: %j",
    ([arg = ""], secret) => {
      expect(createRedactor(server({ command: "x", env: { SETTING: arg } }))(`<${secret}>`)).toBe("<[redacted]>");
    },
  );

  it.each(["x", "x.", "a1", "Ab-"])(
    "a long value made of %j is looked through once, not from each character",
    (part) => {
      const long = part.repeat(100_000);
      const began = performance.now();
      expect(server({ command: "x", env: { SETTING: `${long} ${long}://u:pass-word@h` } })).toContain("pass-word");
      expect(performance.now() - began).toBeLessThan(5_000); // from each character it would be minutes
    },
  );

  it.each([["12postgres://u:pass-word@h/db"], ["a.b+c://u:pass-word@h"], ["(x_postgres://u:pass-word@h/db)"]])(
    "an url within a word: %s",
    (text) => {
      expect(createRedactor(server({ command: "x", env: { SETTING: text } }))("<pass-word>")).toBe("<[redacted]>");
    },
  );

  it.each([
    [["--mode", "monkey"]],
    [["--path", "folder", "--pattern", "abcdefgh", "--compat", "abcdefgh"]],
    [["--header", "Accept: application/json", "-H", "X-Mode: enabled"]],
    [["--auth", "bearer", "--token", "$API_TOKEN", "-e", "API_KEY", "-e", "MAX_TOKENS=100000"]],
    [
      [
        "--token-file",
        "abcdefgh",
        "--secret",
        "/run/secrets/token",
        "--credential=./creds.json",
        "--key=C:\\keys\\one",
      ],
    ],
    [["postgres://user@database/name", "postgres://postgres:postgres@localhost/name"]],
    [["https://registry.example.org:8080/@scope/package@1.2.3?page=longer", "git@github.com:owner/repository.git"]],
    [["ghcr.io/owner/auth:latest", "my-secret:v1.2.34", "@scope/mcp-server-token", "npm:package@1.2.3"]],
    [["sk-learn-something-quite-long", "task-0123456789abcdef01", "ghp_short", "AKIANOTLONG", "eyJust.a.sentence"]],
    [["Please ask for the key: somebody has it", "basic authentication", "-c", "echo done && exit"]],
    [["550e8400-e29b-41d4-a716-446655440000", "abcdef0123456789abcdef0123456789"]],
  ])("not %j (secrets-2)", (args) => {
    expect(server({ command: "x", args })).toEqual([]);
    expect(server({ command: "x", env: { SETTING: args.join(" ").replace(/--?\w.*/s, "") } })).toEqual([]);
  });
});
