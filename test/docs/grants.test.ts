// Runs the code that docs/grants.md shows against valid and invalid grants.

import { spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { argumentsDigest, verifyGrant } from "../../servers/documents/grant.js";
import { mintGrant } from "../../src/approval/index.js";
import { digest } from "../../src/contracts/index.js";

const text = readFileSync(fileURLToPath(new URL("../../docs/grants.md", import.meta.url)), "utf8");
const code = (language: string): string => {
  const blocks = [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gmu"))];
  expect(blocks.length).toBe(1);
  return blocks[0]?.[1] as string;
};

const secret = "the-secret-of-this-test-0123456789";
const now = 1_800_000_000;
const report = { filename: "a.md", content: 'Grüße "世界" 👋\n\t\u007f\u0001\u2028\\' };
const canonicalArguments = JSON.stringify({ content: report.content, filename: report.filename });
const claims = {
  scope: "local",
  thread: "t1",
  tool: "save_report",
  toolDigest: "d".repeat(64),
  argumentsDigest: argumentsDigest(report.filename, report.content),
  approver: "ada",
  iss: "toolgate",
  aud: "documents",
  jti: "a".repeat(64),
  iat: now - 10,
  exp: now + 50,
};
const header = { alg: "HS256", typ: "toolgate-grant+jwt" };
const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
function signed(payload: object, head: object = header, key = secret, hash = "sha256"): string {
  const body = `${encoded(head)}.${encoded(payload)}`;
  return `${body}.${createHmac(hash, key).update(body).digest("base64url")}`;
}

const valid = signed(claims);
const [validHeader, validBody, validSignature] = valid.split(".") as [string, string, string];
const changed = (changes: object): string => signed({ ...claims, ...changes });
/** The last character of a base64url text has two bits that are not part of the data. */
const otherEnding = (token: string): string =>
  token.slice(0, -1) +
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".charAt(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".indexOf(token.slice(-1)) ^ 1,
  );

/** What is wrong with a grant, the grant, and what the shown code answers: undefined means that it is valid. */
const grants: readonly (readonly [what: string, grant: string, says: string | undefined])[] = [
  ["a grant", valid, undefined],
  ["one that a rule allowed", changed({ approver: null }), undefined],
  ["one with more claims", changed({ extra: [1] }), undefined],
  ["one of this second", changed({ iat: now, exp: now + 60 }), undefined],
  ["another secret", signed(claims, header, "x".repeat(32)), "signature"],
  ["changed claims", `${validHeader}.${encoded({ ...claims, thread: "t2" })}.${validSignature}`, "signature"],
  ["no signature", `${validHeader}.${validBody}.`, "signature"],
  ["two parts", `${validHeader}.${validBody}`, "signature"],
  ["one part", validHeader, "signature"],
  ["nothing", "", "signature"],
  ["a fourth part", `${valid}.x`, "signature"],
  ["a space", `${valid} `, "signature"],
  ["padding", `${valid}=`, "signature"],
  ["another way to write the signature", otherEnding(valid), "signature"],
  ["alg none", `${encoded({ ...header, alg: "none" })}.${validBody}.`, "signature"],
  ["alg none, signed", signed(claims, { ...header, alg: "none" }), "header"],
  ["HS512", signed(claims, { ...header, alg: "HS512" }, secret, "sha512"), "signature"],
  ["HS512 in the header only", signed(claims, { ...header, alg: "HS512" }), "header"],
  ["another type", signed(claims, { ...header, typ: "JWT" }), "header"],
  ["a key id", signed(claims, { ...header, kid: "1" }), "header"],
  ["another issuer", changed({ iss: "other" }), "iss"],
  ["another server", changed({ aud: "docs" }), "aud"],
  ["a list of servers", changed({ aud: ["documents"] }), "aud"],
  ["another scope", changed({ scope: "other" }), "scope"],
  ["no scope", changed({ scope: undefined }), "scope"],
  ["another tool", changed({ tool: "read_document" }), "tool"],
  ["another file", changed({ argumentsDigest: argumentsDigest("b.md", report.content) }), "argumentsDigest"],
  ["another content", changed({ argumentsDigest: argumentsDigest("a.md", `${report.content} `) }), "argumentsDigest"],
  ["expired", changed({ iat: now - 60, exp: now }), "time"],
  ["from the future", changed({ iat: now + 1, exp: now + 61 }), "time"],
  ["too long a life", changed({ iat: now, exp: now + 61 }), "time"],
  ["no end", changed({ exp: undefined }), "time"],
  ["no beginning", changed({ iat: undefined }), "time"],
  ["no operation", changed({ jti: undefined }), "jti"],
  ["a path for an operation", changed({ jti: "../a" }), "jti"],
  ["an operation with a newline", changed({ jti: `${"a".repeat(64)}\n` }), "jti"],
];

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "toolgate-grants-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe("Node", () => {
  // biome-ignore lint/suspicious/noExplicitAny: the document's code has no types
  let checkGrant: (grant: string, wanted: object) => any;
  beforeAll(async () => {
    writeFileSync(join(folder, "check.mjs"), code("js"));
    ({ checkGrant } = await import(pathToFileURL(join(folder, "check.mjs")).href));
  });
  const wanted = { secret, aud: "documents", scope: "local", tool: "save_report", canonicalArguments, now };

  test("is ten lines, and imports node:crypto only", () => {
    const body = /^export function checkGrant.*\{\n([\s\S]*?)^\}$/mu.exec(code("js"))?.[1] ?? "";
    expect(body.trimEnd().split("\n").length).toBe(10);
    expect(code("js").match(/from "[^"]*"/gu)).toEqual(['from "node:crypto"']);
  });

  test.each(grants)("%s", (_what, grant, says) => {
    if (says === undefined) expect(checkGrant(grant, wanted).jti).toBe("a".repeat(64));
    else expect(() => checkGrant(grant, wanted)).toThrow(new Error(says));
  });

  test("by the real clock, a grant of the host's is taken for a minute", async () => {
    const grant = await minted(Date.now());
    expect(checkGrant(grant, { ...wanted, now: undefined }).approver).toBe("ada");
    const old = await minted(Date.now() - 61_000);
    expect(() => checkGrant(old, { ...wanted, now: undefined })).toThrow("time");
  });
});

const python = spawnSync("python3", ["--version"]).status === 0;
test.runIf(python)("Python says the same to each of them", () => {
  const script = `${code("python")}
import sys
given = json.load(sys.stdin)
def says(grant):
    try:
        return [check_grant(grant, *given["wanted"])["jti"]]
    except ValueError as error:
        return str(error)
arguments = json.dumps(given["arguments"], ensure_ascii=False, separators=(",", ":"), sort_keys=True)
json.dump({ "says": [says(grant) for grant in given["grants"]], "arguments": arguments }, sys.stdout)
`;
  const wanted = [secret, "documents", "local", "save_report", canonicalArguments, now];
  const input = JSON.stringify({ wanted, grants: grants.map(([, grant]) => grant), arguments: report });
  const { stdout, stderr } = spawnSync("python3", ["-c", script], { input, encoding: "utf8" });
  expect(stderr).toBe("");
  const { says, arguments: canonical } = JSON.parse(stdout);
  expect(grants.map(([what], index) => [what, says[index]])).toEqual(
    grants.map(([what, , word]) => [what, word ?? ["a".repeat(64)]]),
  );
  expect(canonical).toBe(canonicalArguments);
});

test("the documents server takes and refuses the same", async () => {
  const terms = { key: new TextEncoder().encode(secret), audience: "documents", scope: "local" };
  const asked = { tool: "save_report", argumentsDigest: claims.argumentsDigest, operationId: undefined };
  const differs = [];
  for (const [what, grant, says] of grants)
    if ((await verifyGrant(grant, terms, asked, () => now * 1_000)).ok !== (says === undefined)) differs.push(what);
  expect(differs).toEqual([]);
});

test("the table names the claims of a real grant, all of them and no others", async () => {
  const rows = [...text.matchAll(/^\| `(\w+)` \|/gmu)].map((match) => match[1]);
  const body = (await minted(now * 1_000)).split(".")[1] as string;
  expect(rows.sort()).toEqual(Object.keys(JSON.parse(Buffer.from(body, "base64url").toString())).sort());
});

/** A grant as the host makes it. */
function minted(nowMs: number): Promise<string> {
  const { jti, thread, tool, toolDigest, approver, scope } = claims;
  const argumentsDigest = digest(report);
  const said = {
    server: "documents",
    operationId: jti,
    scope,
    threadId: thread,
    tool,
    toolDigest,
    argumentsDigest,
    approver,
  };
  return mintGrant(said, secret, { now: nowMs, ttlMs: 60_000 });
}
