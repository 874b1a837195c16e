// Where a call goes and who it is called as: what a person reads of it, and what a yes is compared with.

import { createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type DestinationTerms, destinationOf, reasked, TEXT_CHARS } from "../../src/approval/index.js";
import {
  DestinationDigest,
  HttpServer,
  hasHidden,
  type ServerConfig,
  StdioServer,
  sameDestination,
} from "../../src/contracts/index.js";
import { createRedactor } from "../../src/observation/redact.js";

const KEY = "a-secret-for-tests-that-is-long-enough";
const FOLDER = "/srv/agent";

function terms(secrets: readonly string[] = [], secret: string | undefined = KEY): DestinationTerms {
  return { redact: createRedactor(secrets), cut: createRedactor(secrets, [], "\0"), secret, folder: FOLDER };
}
const unkeyed = (secrets: readonly string[] = []) => ({ ...terms(secrets), secret: undefined });
const stdio = (more: object = {}): ServerConfig =>
  StdioServer.parse({ type: "stdio", command: "node", args: ["bank.js"], cwd: FOLDER, ...more });
const http = (more: object = {}): ServerConfig =>
  HttpServer.parse({ type: "http", url: "https://bank.example.org/mcp", ...more });
const textOf = (server: ServerConfig, secrets: readonly string[] = []) => destinationOf(server, terms(secrets)).text;
const digestOf = (server: ServerConfig, of = terms()) => destinationOf(server, of).digest;

describe("what a person reads (destination-1)", () => {
  test.each([
    ["a program", stdio(), "runs `node bank.js`"],
    ["a program in another folder", stdio({ cwd: "/srv/bank" }), "runs `node bank.js` in `/srv/bank`"],
    ["one argument with spaces", stdio({ args: ["a b", ""] }), 'runs `node "a b" ""`'],
    ["a quote and the end of a code span", stdio({ args: ['"', "a`b"] }), 'runs `node "\\"" "a`b"`'],
    ["an address", http(), "https://bank.example.org/mcp"],
    ["a named caller", http({ credentialId: "treasury" }), "https://bank.example.org/mcp as `treasury`"],
    ["hidden characters", stdio({ args: ["safe\u202Esj.knab"] }), "runs `node safe\\u{202E}sj.knab`"],
    ["lines", stdio({ args: ["a\nApproved."] }), 'runs `node "a\\nApproved."`'],
  ])("%s", (_, server, text) => {
    expect(textOf(server)).toBe(text);
  });

  test("secrets are taken out, also where two arguments read like one", () => {
    expect(textOf(stdio({ args: ["--token=abcdefgh", "--key", "abcdefgh"] }), ["abcdefgh"])).toBe(
      "runs `node --token=[redacted] --key [redacted]`",
    );
    expect(textOf(stdio({ args: ["open", "sesame"] }), ["open sesame"])).toBe("runs `node [redacted]`");
    expect(textOf(http({ url: "https://bank.example.org/abcdefgh" }), ["abcdefgh"])).toBe(
      "https://bank.example.org/[redacted]",
    );
    expect(textOf(http({ credentialId: "as abcdefgh" }), ["abcdefgh"])).toContain("as `as [redacted]`");
  });

  test("the caller is named however long the command is", () => {
    const text = textOf(stdio({ args: ["a".repeat(2_000)], credentialId: "treasury" }));
    expect([text.length, text.startsWith("runs `node aaaa"), text.endsWith("aaa… as `treasury`")]).toEqual([
      500,
      true,
      true,
    ]);
  });

  test("for all servers and secrets: no secret, nothing hidden, and never too long", () => {
    const word = fc.string({ unit: "binary", maxLength: 40 });
    const secret = fc.string({ unit: fc.constantFrom(...'abc 1"\\\n`é'), minLength: 6, maxLength: 12 });
    fc.assert(
      fc.property(fc.array(word), secret, fc.nat(3), word, (args, value, at, around) => {
        const held = [...args.slice(0, at), `${around}${value}${around}`, ...args.slice(at)];
        for (const server of [stdio({ args: held }), http({ url: held.join("/"), credentialId: `x${value}` })]) {
          const { text } = destinationOf(server, terms([value]));
          expect(text).not.toContain(value);
          expect(hasHidden(text)).toBe(false);
          expect(text.length).toBeLessThanOrEqual(TEXT_CHARS);
        }
      }),
    );
  });
});

describe("what a yes is compared with (destination-2)", () => {
  const CHANGES: [string, ServerConfig, ServerConfig][] = [
    ["the command", stdio(), stdio({ command: "deno" })],
    ["an argument", stdio(), stdio({ args: ["other.js"] })],
    ["where one argument ends", stdio({ args: ["a", "b"] }), stdio({ args: ["a b"] })],
    ["the folder", stdio(), stdio({ cwd: "/srv/other" })],
    ["the name of a variable", stdio({ env: { A: "1" } }), stdio({ env: { B: "1" } })],
    ["one variable more", stdio(), stdio({ env: { A: "" } })],
    ["the url", http(), http({ url: "https://bank.example.org/mcp2" })],
    ["the transport", http(), http({ type: "sse" })],
    ["the name of a header", http({ headers: { "X-A": "1" } }), http({ headers: { "X-B": "1" } })],
    ["the caller's name", stdio({ credentialId: "a" }), stdio({ credentialId: "b" })],
    ["that the caller has a name", http(), http({ credentialId: "a" })],
    ["a program for an address", stdio(), http()],
  ];
  test.each(CHANGES)("%s counts, with a key and without one", (_, before, after) => {
    expect(digestOf(before)).not.toBe(digestOf(after));
    expect(digestOf(before, unkeyed())).not.toBe(digestOf(after, unkeyed()));
  });

  test.each<[string, ServerConfig, ServerConfig]>([
    ["the value of a variable", stdio({ env: { A: "1" } }), stdio({ env: { A: "2" } })],
    ["the value of a header", http({ headers: { "X-A": "1" } }), http({ headers: { "X-A": "2" } })],
    ["which variable has which value", stdio({ env: { A: "1", B: "2" } }), stdio({ env: { A: "2", B: "1" } })],
  ])("%s counts with a key alone (destination-3)", (_, before, after) => {
    expect(digestOf(before)).not.toBe(digestOf(after));
    expect(digestOf(before, unkeyed())).toBe(digestOf(after, unkeyed()));
  });

  test.each<[string, object]>([
    ["time limits", { timeoutMs: 5 }],
    ["when it is verified", { verify: "on-change" }],
    ["when it is connected", { connect: "on-demand", required: true }],
    ["what its errors mean", { errors: "honest" }],
    ["the protocol", { protocol: "2025-11-25" }],
    ["the key of grants", { grantSecret: "g".repeat(32) }],
  ])("%s do not count", (_, more) => {
    expect(digestOf(stdio(more))).toBe(digestOf(stdio()));
    expect(digestOf(http(more))).toBe(digestOf(http()));
  });

  test("for all variables and headers: their order and the case of a header's name do not count", () => {
    const names = fc.dictionary(fc.stringMatching(/^[a-z_]{1,6}$/), fc.string({ maxLength: 8 }), { maxKeys: 6 });
    fc.assert(
      fc.property(names, fc.boolean(), (record, keyed) => {
        const of = keyed ? terms() : unkeyed();
        const reversed = Object.fromEntries(Object.entries(record).reverse());
        const upper = Object.fromEntries(Object.entries(reversed).map(([name, value]) => [name.toUpperCase(), value]));
        expect(digestOf(stdio({ env: record }), of)).toBe(digestOf(stdio({ env: reversed }), of));
        expect(digestOf(http({ headers: record }), of)).toBe(digestOf(http({ headers: upper }), of));
      }),
    );
  });

  test("for all pairs of servers: the digests are equal when the servers are, and only then", () => {
    const text = fc.string({ maxLength: 3 });
    const server = fc
      .record({ command: fc.constantFrom("a", "b"), args: fc.array(text, { maxLength: 3 }), cwd: text })
      .chain((rest) => fc.dictionary(text, text, { maxKeys: 2 }).map((env) => stdio({ ...rest, env })));
    const sorted = (one: ServerConfig) =>
      JSON.stringify({ ...one, env: one.type === "stdio" ? Object.entries(one.env).sort() : [] });
    fc.assert(
      fc.property(server, server, (one, two) => {
        expect(digestOf(one) === digestOf(two)).toBe(sorted(one) === sorted(two));
      }),
    );
  });
});

describe("secrets in what is compared", () => {
  test("the key is needed to make the second digest, and it is not the key of the seals (destination-3)", () => {
    const [one, two] = [digestOf(stdio()), digestOf(stdio(), { ...terms(), secret: `${KEY}x` })];
    const [plain, key, whole] = one.split(":");
    const [otherPlain, otherKey, otherWhole] = two.split(":");
    expect([plain, plain]).toEqual([otherPlain, digestOf(stdio(), unkeyed())]);
    expect([key === otherKey, whole === otherWhole]).toEqual([false, false]);
    expect([one, two].every((digest) => DestinationDigest.safeParse(digest).success)).toBe(true);
    const covered = JSON.stringify(["stdio", null, "node", ["bank.js"], FOLDER, []]);
    expect(whole).not.toBe(createHmac("sha256", KEY).update(covered).digest("hex"));
  });

  test("two destinations are compared by value under one key, and by the rest without a key in common (destination-3)", () => {
    const of = (value: string, secret: string | undefined) =>
      digestOf(stdio({ env: { A: value } }), { ...terms(), secret });
    const elsewhere = digestOf(stdio({ env: { B: "1" } }));
    const other = `${KEY}x`;
    expect(sameDestination(of("1", KEY), of("1", KEY))).toBe(true);
    expect(sameDestination(of("1", KEY), of("2", KEY))).toBe(false);
    expect(sameDestination(of("1", KEY), of("2", other))).toBe(true);
    expect(sameDestination(of("1", KEY), of("2", undefined))).toBe(true);
    expect(sameDestination(of("1", undefined), of("2", undefined))).toBe(true);
    for (const secret of [KEY, other, undefined]) expect(sameDestination(elsewhere, of("1", secret))).toBe(false);
    expect(sameDestination(undefined, of("1", KEY))).toBe(false);
    expect(sameDestination(of("1", undefined), undefined)).toBe(false);
    expect(sameDestination(undefined, undefined)).toBe(true);
  });

  test.each<[string, (secret: string) => ServerConfig]>([
    ["an argument", (secret) => stdio({ args: [`--token=${secret}`] })],
    ["the command", (secret) => stdio({ command: secret })],
    ["the folder", (secret) => stdio({ cwd: `/srv/${secret}` })],
    ["a url", (secret) => http({ url: `https://example.org/${secret}?q=${secret}` })],
    ["the host of a url", (secret) => http({ url: `https://${secret}.example.org/` })],
    ["a variable", (secret) => stdio({ env: { A: secret } })],
    ["a header", (secret) => http({ headers: { authorization: secret } })],
    ["the caller's name", (secret) => stdio({ credentialId: secret })],
  ])("without a key a secret in %s is in no digest (destination-3)", (_, server) => {
    const [before, after] = ["ABCdefgh", "redacted-[]<>(){}‹›«»"];
    expect(digestOf(server(before), unkeyed([before]))).toBe(digestOf(server(after), unkeyed([after])));
  });

  test.each<[string, (secret: string) => ServerConfig, boolean]>([
    ["an argument", (secret) => stdio({ args: [secret], credentialId: "a" }), true],
    ["the path of a url", (secret) => http({ url: `https://x.org/${secret}`, credentialId: "a" }), true],
    ["a variable", (secret) => stdio({ env: { A: secret }, credentialId: "a" }), true],
    ["a header", (secret) => http({ headers: { authorization: secret }, credentialId: "a" }), true],
    ["the command", (secret) => stdio({ command: secret, credentialId: "a" }), false],
    ["the folder", (secret) => stdio({ cwd: secret, credentialId: "a" }), false],
    ["the host of a url", (secret) => http({ url: `https://${secret}.org/`, credentialId: "a" }), false],
  ])("under a `credentialId` another secret in %s is the same destination: %#  (destination-4)", (_, server, same) => {
    const [before, after] = ["abcdefgh", "ijklmnopqr"];
    const digests = [digestOf(server(before), terms([before])), digestOf(server(after), terms([after]))];
    expect(digests[0] === digests[1]).toBe(same);
  });

  test("under a `credentialId` what is no secret still counts (destination-4)", () => {
    const named = (args: string[]) => digestOf(stdio({ args, credentialId: "a" }), terms(["abcdefgh"]));
    expect(named(["--account=1", "abcdefgh"])).not.toBe(named(["--account=2", "abcdefgh"]));
  });
});

describe("what the next question says (destination-5)", () => {
  const bank = { name: "bank", credentialId: undefined };
  const [here, there] = [
    { text: "runs `a`", digest: "a".repeat(64) },
    { text: "runs `b`", digest: "b".repeat(64) },
  ];
  const asAnother = { ...here, digest: "c".repeat(64) };

  test("nothing where the call goes where it went, is asked about for the first time, or goes to no server", () => {
    expect(reasked(here, undefined, bank)).toEqual({ destination: { ...here, moved: 0 }, why: undefined });
    expect(reasked(here, { destination: { ...here, moved: 1 } }, bank)).toEqual({
      destination: { ...here, moved: 1 },
      why: undefined,
    });
    expect(reasked(undefined, {}, bank)).toEqual({ destination: undefined, why: undefined });
  });

  test("where it went before, or that it may be made as somebody else", () => {
    expect(reasked(there, { destination: { ...here, moved: 0 } }, bank)).toEqual({
      destination: { ...there, moved: 1 },
      why: "where this call goes has changed since it was asked about: it was runs `a`",
    });
    expect(reasked(asAnother, { destination: { ...here, moved: 0 } }, bank)).toEqual({
      destination: { ...asAnother, moved: 1 },
      why: "where this call goes, or who it is made as, has changed since it was asked about: `bank` has other arguments, variables, headers or credentials, or starts in another folder",
    });
  });

  test("that the question before said nothing of it, as older stores do", () => {
    expect(reasked(here, {}, bank)).toEqual({
      destination: { ...here, moved: 0 },
      why: "the question before this one did not say where the call goes",
    });
  });

  test("from the second time on, what to set; not where it is set", () => {
    const before = { destination: { ...here, moved: 1 } };
    expect(reasked(asAnother, before, bank).why).toContain(
      "; this has happened 2 times; where only the credentials of `bank` change, set its `credentialId`, and changed credentials do not ask again",
    );
    expect(reasked(asAnother, before, { ...bank, credentialId: "treasury" }).why).not.toContain("credentialId");
  });
});
