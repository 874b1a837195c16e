// Grants, good and bad, before a clock that stands still.

import { createHmac } from "node:crypto";
import { CompactSign, SignJWT } from "jose";
import { describe, expect, test } from "vitest";
import { argumentsDigest, verifyGrant } from "../../../servers/documents/grant.js";

const secret = "the-secret-of-this-test-0123456789";
const key = new TextEncoder().encode(secret);
const terms = { key, audience: "documents", scope: "local" };
const id = "a".repeat(64);
const now = 1_800_000_000;
const report = ["a.md", "text\n"] as const;
const claims = {
  iss: "toolgate",
  aud: "documents",
  jti: id,
  iat: now - 10,
  exp: now + 50,
  scope: "local",
  thread: "t1",
  tool: "save_report",
  toolDigest: "d".repeat(64),
  argumentsDigest: argumentsDigest(...report),
  approver: "ada",
};
const header = { alg: "HS256", typ: "toolgate-grant+jwt" };

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
function signed(payload: object, head: object = header, hash = "sha256", secretKey: string | Uint8Array = key): string {
  const text = `${encoded(head)}.${encoded(payload)}`;
  return `${text}.${createHmac(hash, secretKey).update(text).digest("base64url")}`;
}

function verify(token: string, more: { operationId?: string; nowMs?: number; digest?: string; tool?: string } = {}) {
  const { tool = "save_report", digest = claims.argumentsDigest, operationId, nowMs = now * 1_000 } = more;
  return verifyGrant(token, terms, { tool, argumentsDigest: digest, operationId }, () => nowMs);
}
/** The rule that was broken; undefined for a grant that is taken. */
async function rule(...args: Parameters<typeof verify>): Promise<string | undefined> {
  const verdict = await verify(...args);
  return verdict.ok ? undefined : verdict.refusal.rule;
}

test("the digest of the arguments is SHA-256 of their canonical JSON, without what the host injects", () => {
  // printf '{"content":"text\\n","filename":"a.md"}' | sha256sum
  expect(argumentsDigest("a.md", "text\n")).toBe("6da2d17ac6fa29192c045d9e7338bcc185c6c2f6726f3669f41ef592529c6e39");
});

describe("what is taken", () => {
  test.each([
    ["a grant", claims, header],
    ["one that a rule allowed", { ...claims, approver: null }, header],
    ["one of this very second", { ...claims, iat: now, exp: now + 60 }, header],
    ["one in its last second", { ...claims, iat: now - 59, exp: now + 1 }, header],
    ["a claim that is not known", { ...claims, more: { of: "it" } }, header],
  ])("%s", async (_what, payload, head) => {
    expect(await verify(signed(payload, head))).toEqual({ ok: true, operationId: id });
    expect(await verify(signed(payload, head), { operationId: id })).toEqual({ ok: true, operationId: id });
  });
});

describe("signature and header (documents-grant-1)", () => {
  const notSigned = "must be a grant signed with this server's secret";
  const notHeader = "must have exactly the header of a grant";
  const good = signed(claims);
  test.each([
    ["another secret", signed(claims, header, "sha256", "x".repeat(32)), notSigned],
    ["the secret with a newline", signed(claims, header, "sha256", `${secret}\n`), notSigned],
    ["changed claims", good.replace(/\.[^.]*\./, `.${encoded({ ...claims, thread: "t2" })}.`), notSigned],
    ["no signature", good.replace(/[^.]*$/, ""), notSigned],
    ["a shorter signature", good.slice(0, -4), notSigned],
    ["alg none", `${encoded({ ...header, alg: "none" })}.${encoded(claims)}.`, "must be signed with HS256"],
    ["alg none with a signature", signed(claims, { ...header, alg: "none" }), "must be signed with HS256"],
    ["alg NONE", signed(claims, { ...header, alg: "NONE" }), "must be signed with HS256"],
    ["alg hs256", signed(claims, { ...header, alg: "hs256" }), "must be signed with HS256"],
    ["no alg", signed(claims, { typ: header.typ }), notSigned],
    ["HS512", signed(claims, { ...header, alg: "HS512" }, "sha512"), "must be signed with HS256"],
    ["alg HS384, signed with SHA-256", signed(claims, { ...header, alg: "HS384" }), "must be signed with HS256"],
    ["no typ", signed(claims, { alg: "HS256" }), notHeader],
    ["typ JWT", signed(claims, { ...header, typ: "JWT" }), notHeader],
    ["typ in capitals", signed(claims, { ...header, typ: "TOOLGATE-GRANT+JWT" }), notHeader],
    ["typ with its long name", signed(claims, { ...header, typ: "application/toolgate-grant+jwt" }), notHeader],
    ["keys in another order", signed(claims, { typ: header.typ, alg: "HS256" }), notHeader],
    ["a key id", signed(claims, { ...header, kid: "1" }), notHeader],
    ["a key of its own", signed(claims, { ...header, jwk: { kty: "oct", k: "AAAA" } }), notHeader],
    ["a critical extension", signed(claims, { ...header, crit: ["exp"], exp: 1 }), notSigned],
    ["an unencoded payload", signed(claims, { ...header, b64: false, crit: ["b64"] }), notSigned],
    ["claims that are a list", signed([claims]), notSigned],
    ["two parts", good.split(".").slice(0, 2).join("."), notSigned],
    ["five parts", `${good}.${encoded({})}.${encoded({})}`, notSigned],
    ["JSON", JSON.stringify({ payload: encoded(claims), signatures: [] }), notSigned],
    ["a space behind it", `${good} `, notSigned],
    ["a newline in it", good.replace(".", ".\n"), notSigned],
    ["padding", `${good}=`, notSigned],
    ["text", "yes", notSigned],
  ])("%s is refused", async (_what, token, broken) => {
    expect(await rule(token)).toBe(broken);
  });

  test("what another library signs is taken too, and its RSA or EC grants are not", async () => {
    const one = await new SignJWT(claims).setProtectedHeader(header).sign(key);
    expect(await rule(one)).toBeUndefined();
    const other = await new CompactSign(Buffer.from(JSON.stringify(claims))).setProtectedHeader(header).sign(key);
    expect(await rule(other)).toBeUndefined();
    expect(await rule(signed(claims, { ...header, alg: "RS256" }))).toBe("must be signed with HS256");
    expect(await rule(signed(claims, { ...header, alg: "ES256" }))).toBe("must be signed with HS256");
  });
});

describe("for this server, scope, tool and these arguments (documents-grant-2)", () => {
  test.each<[string, object, string]>([
    ["iss", { iss: "other" }, "must have the claim `iss` of a grant"],
    ["no iss", { iss: undefined }, "must have the claim `iss` of a grant"],
    ["aud", { aud: "docs" }, "must be for this server"],
    ["aud with this server among others", { aud: ["documents", "docs"] }, "must be for this server alone"],
    ["aud as a list of one", { aud: ["documents"] }, "must be for this server alone"],
    ["scope", { scope: "other" }, "must be for this scope"],
    ["no scope", { scope: undefined }, "must be for this scope"],
    ["tool", { tool: "read_document" }, "must be for this tool"],
    ["the tool's alias", { tool: "mcp__documents__save_report" }, "must be for this tool"],
    [
      "another file",
      { argumentsDigest: argumentsDigest("b.md", "text\n") },
      "must be for this file name and this content",
    ],
    [
      "another content",
      { argumentsDigest: argumentsDigest("a.md", "text") },
      "must be for this file name and this content",
    ],
    [
      "a digest in capitals",
      { argumentsDigest: claims.argumentsDigest.toUpperCase() },
      "must be for this file name and this content",
    ],
    ["no jti", { jti: undefined }, "must have the claim `jti` of a grant"],
    ["a jti that is a path", { jti: "../reports/a.md" }, "must name an operation"],
    ["a jti in capitals", { jti: "A".repeat(64) }, "must name an operation"],
    ["no thread", { thread: undefined }, "must have all claims of a grant"],
    ["no toolDigest", { toolDigest: undefined }, "must have all claims of a grant"],
    ["no approver", { approver: undefined }, "must have all claims of a grant"],
    ["an approver that is no text", { approver: true }, "must have all claims of a grant"],
  ])("%s", async (_what, changes, broken) => {
    expect(await rule(signed({ ...claims, ...changes }))).toBe(broken);
  });

  test("an operation id beside it must be its own", async () => {
    expect(await verify(signed(claims), { operationId: "b".repeat(64) })).toEqual({
      ok: false,
      refusal: { field: "operation_id", rule: "must be the operation that the grant is for" },
    });
  });
});

describe("time (documents-grant-3)", () => {
  test.each<[string, object, string]>([
    ["expired", { iat: now - 60, exp: now - 1 }, "must not have expired"],
    ["expired this second", { iat: now - 60, exp: now }, "must not have expired"],
    ["issued in the future", { iat: now + 1, exp: now + 61 }, "must have been issued before now"],
    ["older than a minute", { iat: now - 61, exp: now + 1 }, "must not have expired"],
    ["longer than a minute", { iat: now, exp: now + 61 }, "must live at most 60 seconds"],
    ["no iat", { iat: undefined }, "must have been issued before now"],
    ["no exp", { exp: undefined }, "must have the claim `exp` of a grant"],
    ["exp as text", { exp: String(now + 50) }, "must have the claim `exp` of a grant"],
    ["exp as a fraction", { exp: now + 49.5 }, "must live at most 60 seconds"],
    ["exp without end", { exp: 1e300 }, "must live at most 60 seconds"],
    ["not valid yet", { nbf: now + 5 }, "must have the claim `nbf` of a grant"],
  ])("%s", async (_what, changes, broken) => {
    expect(await rule(signed({ ...claims, ...changes }))).toBe(broken);
  });

  test("the second it expires in is over with its first millisecond", async () => {
    expect(await rule(signed(claims), { nowMs: (now + 50) * 1_000 - 1 })).toBeUndefined();
    expect(await rule(signed(claims), { nowMs: (now + 50) * 1_000 })).toBe("must not have expired");
  });
});
