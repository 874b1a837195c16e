// Literals of a configuration, and parts of secret values: which of them are taken out of text.

import { describe, expect, it, test } from "vitest";
import { examine } from "../../src/adapters/config/findings.js";
import { load, ref } from "./support.js";

const of = (value: unknown, env: Record<string, string> = {}) => load(JSON.stringify(value), env).config;
const stdio = (env: Record<string, string>) => ({ mcpServers: { s: { command: "x", env } } });
/** Made up for this file; the last line of a real key is as short as this one's. */
const LINES = [
  "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
  "MzEfYyjiWA4R4ypbHqGC0H0+tG3hGbN4ZYyYHxWPvb2o8PpQ3kqZzq9h2f0c7g1L",
  "dGhlIGVuZA==",
];
const PEM = `-----BEGIN PRIVATE KEY-----\n${LINES.join("\n")}\n-----END PRIVATE KEY-----\n`;

describe("a literal without a telling name (secrets-4)", () => {
  // A key stood in `env` under a name of its server's own. It came back in an error and was logged.
  it.each([
    "Xk29fLqP7zRt",
    "aB3dE5gH7jK9mN1p",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "kR8+fT2/pQ5zLm1xV0==",
    "deadbeefdeadbeefdead",
    "9F86D081884C7D659A2FEAA0",
    "SG.ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DHoTf-09kqeF8tAmbihYrrPu",
    "sk-proj-abcdefgh12345678",
    "ghp_abcdefghijklmnop1234",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "Tr0ub4dor&3xyz",
    "q7!Zp#Lw92@Vtx",
    "abcdefghijklmnopqrst0123",
    "glpat-abcdefghij1234567890",
    "xoxb-1234567890-abcdef",
    "V2hhdCBhIHNlY3JldA==",
    "P4ss:W0rd:Long:Enough",
    "1a2B3c4D5e6F",
    "zzTop-1969-Legs-Eliminator",
  ])("%s is a secret", (literal) => {
    expect(of(stdio({ SETTING: literal })).literalSecrets).toContain(literal);
    const headers = { "X-Setting": literal };
    expect(of({ mcpServers: { s: { url: "https://example.org", headers } } }).literalSecrets).toContain(literal);
    expect(of(stdio({ SETTING: literal })).secrets).toEqual([]);
  });

  // A region was hidden wherever a person read it, because it stood in the configuration.
  it.each([
    "true",
    "production",
    "eu-central-1",
    "us-gov-west-1a",
    "8080",
    "12345678901234567890123",
    "/usr/local/share/App2Data",
    "./Data/Files2",
    "C:\\Users\\Alice1\\Documents",
    "https://Example.org/Path2/Deep",
    "Api2.Example.com:8443",
    "Database1:5432",
    "v12.4.0-RC1",
    "2026-12-01T10:00:00Z",
    "Alice.Smith99@example.com",
    "Europe/Berlin",
    "org/Model-7B-Instruct",
    "ghcr.io/Owner/App2:v1.2.3",
    "550e8400-e29b-41d4-a716-446655440000",
    "the 2 quick Brown foxes",
    "arn:aws:iam::123456789012:role/MyRole1",
    "my-service-account-2024",
    "myLongConfigurationNameHere",
    "10.0.0.0/8,192.168.0.0/16",
  ])("%s is none", (literal) => {
    expect(of(stdio({ SETTING: literal })).literalSecrets).toEqual([]);
    const headers = { "X-Setting": literal };
    expect(of({ mcpServers: { s: { url: "https://example.org", headers } } }).literalSecrets).toEqual([]);
  });
});

describe("a literal whose name says so", () => {
  it.each([
    "TOKEN",
    "apiKey",
    "API_KEYS",
    "DB_PASSWORD",
    "ACCESS_KEY_ID",
    "AUTH",
    "X-Auth-Token",
    "MY_CREDENTIALS",
    "ClientSecret",
    "GH_PAT",
    "AUTH_TOKENS",
    "DB_PWD",
  ])("%s", (name) => {
    expect(of(stdio({ [name]: "abcdefgh" })).literalSecrets).toEqual(["abcdefgh"]);
  });
  it.each([
    "TOKENIZER",
    "MAX_TOKENS",
    "KEYBOARD",
    "AUTHOR",
    "TOKEN_FILE",
    "AUTH_URL",
    "KEY_NAME",
    "MONKEY",
    "PATH2",
    "AUTH_TYPE",
    "PASSAGE",
  ])("not %s", (name) => {
    expect(of(stdio({ [name]: "abcdefgh" })).literalSecrets).toEqual([]);
  });
});

describe("parts of a value (parts-1)", () => {
  const JSON_KEY = JSON.stringify({
    type: "service_account",
    project_id: "my-project-1",
    private_key: PEM,
    client_secret: "hush-hush",
    nested: { password: "open-sesame" },
    token_uri: "https://oauth2.example.org/token",
  });
  // A server echoed one line of the key it was given. The whole key was hidden, and its lines were not.
  it.each<[string, Record<string, string>, string[], string[]]>([
    ["lines of a key", { KEY: PEM }, [...LINES, LINES.join("")], ["-----BEGIN PRIVATE KEY-----"]],
    ["lines of a key that is written in one line", { KEY: PEM.replaceAll("\n", "\\n") }, LINES, []],
    ["a password in a url", { DB: "postgres://app:pass-word@db/x" }, ["pass-word"], ["postgres", "app"]],
    [
      "fields of a credential",
      { CREDS: JSON_KEY },
      [...LINES, "hush-hush", "open-sesame"],
      ["service_account", "my-project-1", "https://oauth2.example.org/token"],
    ],
    [
      "the same in Base64",
      { CREDS: Buffer.from(JSON_KEY).toString("base64") },
      [...LINES, "hush-hush", "open-sesame"],
      ["service_account"],
    ],
    ["a list", { LIST: "first-one-aaa, second-one-bbb" }, ["first-one-aaa", "second-one-bbb"], []],
    ["a list in JSON", { LIST: '["first-one-aaa","second-one-bbb"]' }, ["first-one-aaa", "second-one-bbb"], []],
    ["lines", { LIST: "first-one-aaa\nsecond-one-bbb\n" }, ["first-one-aaa", "second-one-bbb"], []],
    ["a list of urls", { LIST: "https://a:pass-one@h,https://b:pass-two@h" }, ["pass-one", "pass-two"], []],
    [
      "what nobody hides is no part (parts-2)",
      { LIST: "europe,eu-central-1,true,123456789,db.example.org,/srv/some/data" },
      [],
      ["europe", "eu-central-1", "true", "123456789", "db.example.org", "/srv/some/data"],
    ],
    ["unless the name says so", { API_KEYS: "europe,america" }, ["europe", "america"], []],
  ])("%s", (_what, env, parts, not) => {
    const [name = ""] = Object.keys(env);
    const { secrets } = of(stdio({ N: ref(name) }), env);
    expect(secrets).toEqual(expect.arrayContaining(parts));
    expect(secrets).toContain(Object.values(env)[0]);
    for (const one of not) expect(secrets).not.toContain(one);
  });

  it("the same of a literal, where a name or its form says so", () => {
    const { secrets, literalSecrets } = of(
      stdio({
        SETTING: JSON_KEY,
        OTHER: PEM,
        DB: "postgres://app:pass-word@db/x",
        LIST: "first-one-aaa,second-one-bbb",
      }),
    );
    expect(secrets).toEqual([]);
    expect(literalSecrets).toEqual(expect.arrayContaining([...LINES, "hush-hush", "open-sesame", "pass-word"]));
    for (const one of ["service_account", "my-project-1", "first-one-aaa", "app"])
      expect(literalSecrets).not.toContain(one);
  });

  it("a value that is nested in itself very deeply has an end", () => {
    let text = "deep-secret-1";
    for (let n = 0; n < 12; n++) text = JSON.stringify([text]);
    expect(of(stdio({ N: ref("V") }), { V: text }).secrets.length).toBeLessThan(10);
    expect(of(stdio({ N: ref("V") }), { V: "[".repeat(100_000) }).secrets).toEqual(["[".repeat(100_000)]);
  });
});

// A password of four characters was thought to be hidden, and stood in every log.
test("`check` says which secrets are too short to be hidden, and neither what nor how long they are", () => {
  const config = of(
    {
      mcpServers: {
        a: { command: "x", env: { TOKEN: "ab12", MODE: "fast", API_KEY: ref("K") }, args: ["--password", "pw1"] },
        b: { url: "https://example.org/mcp?token=abc", headers: { Authorization: "Bearer xy", "X-Mode": "on" } },
        c: { command: "x", env: { TOKEN: "long-enough", AUTH: "none", SECRET: "" } },
      },
    },
    { K: "k1" },
  );
  const said = examine({ config, findings: [] }, { env: {} }).findings.filter(({ code }) => code === "secret_short");
  const why =
    "is not taken out of text: it is shorter than 6 characters, and hiding it would hide parts of other words";
  expect(said.map(({ level, message }) => `${level}: ${message}`)).toEqual([
    `warning: server \`a\`: the secret in \`env.TOKEN\` ${why}`,
    `warning: server \`a\`: the secret in \`env.API_KEY\` ${why}`,
    `warning: server \`a\`: the secret in \`args\` ${why}`,
    `warning: server \`b\`: the secret in \`headers.Authorization\` ${why}`,
    `warning: server \`b\`: the secret in \`url\` ${why}`,
  ]);
});
