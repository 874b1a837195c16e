// Where the calls to each configured server go, with the secrets and the key of a configuration as it is loaded.

import { expect, test } from "vitest";
import { resolveConfig } from "../../src/adapters/config/load.js";
import { sameDestination } from "../../src/contracts/index.js";
import { destinationsOf } from "../../src/create/destinations.js";

const SECRET = "a-secret-for-tests-that-is-long-enough";
// biome-ignore lint/suspicious/noTemplateCurlyInString: this is how a configuration names a variable
const VARIABLE = "${TOKEN}";

function of(server: object, { env = {}, ...more }: { env?: Record<string, string>; approvals?: object } = {}) {
  const { config } = resolveConfig(
    { mcpServers: { bank: server }, approvals: { secret: SECRET }, store: { kind: "memory" }, ...more },
    { folder: "/srv/agent", env },
  );
  return destinationsOf(config);
}

test("a name that is not configured goes nowhere, also where every object has it", () => {
  const at = of({ command: "node", args: ["bank.js"] });
  expect(["bank", "other", "constructor", "__proto__"].map((name) => at(name)?.text)).toEqual([
    "runs `node bank.js`",
    undefined,
    undefined,
    undefined,
  ]);
  expect(at("bank")).toBe(at("bank"));
});

test("without `approvals.secret` values do not count: the key of this process would be gone with it (destination-3)", () => {
  const digest = (value: string) => of({ command: "a", env: { A: value } }, { approvals: {} })("bank")?.digest;
  expect(digest("1")).toMatch(/^[0-9a-f]{64}$/);
  expect(digest("1")).toBe(digest("2"));
});

// The mark that stands for a secret in what people read is chosen so that no secret holds it.
test.each([
  ["a header", { url: "https://bank.example.org/", headers: { authorization: `Bearer ${VARIABLE}` } }],
  ["a url", { url: `https://bank.example.org/?token=${VARIABLE}` }],
  ["an argument", { command: "node", args: ["bank.js", "--token", VARIABLE] }],
  ["a variable", { command: "node", env: { TOKEN: VARIABLE } }],
])("under one `credentialId` any token in %s can be replaced by any other (destination-4)", (_, server) => {
  const [first, ...others] = ["plain-token", "[redacted]", "<[(token)]>", "redacted‹›«»{}"]
    .filter((token) => !("headers" in server) || /^[\x20-\xff]*$/.test(token))
    .map((TOKEN) => of({ ...server, credentialId: "treasury" }, { env: { TOKEN } })("bank")?.digest);
  expect(others.every((digest) => digest === first && sameDestination(digest, first))).toBe(true);
  const unnamed = ["plain-token", "other-token"].map((TOKEN) => of(server, { env: { TOKEN } })("bank")?.digest);
  expect(sameDestination(unnamed[0], unnamed[1])).toBe(false);
});

test("no secret in the arguments of a program is shown to a person (destination-1)", () => {
  const args = [
    ...["-e", "API_KEY=secret-one", "--env=DB=postgres://me:secret-two@db/x", "--pat", "secret-three"],
    ...[
      "--header",
      "Authorization: Bearer secret-four",
      "https://x.org/?token=secret-five",
      "ghp_0123456789abcdefghij",
    ],
  ];
  expect(of({ command: "docker", args })("bank")?.text).toBe(
    'runs `docker -e API_KEY=[redacted] --env=DB=postgres://me:[redacted]@db/x --pat [redacted] --header "Authorization: [redacted]" https://x.org/?token=[redacted] [redacted]`',
  );
});
