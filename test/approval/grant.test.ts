import fc from "fast-check";
import { jwtVerify } from "jose";
import { describe, expect, test } from "vitest";
import { GRANT_START, type GrantClaims, mintGrant } from "../../src/approval/index.js";
import { createRedactor, openRedactor } from "../../src/observation/index.js";

const SECRET = "0123456789abcdef0123456789abcdef";
const NOW = 1_800_000_000_400;
const CLAIMS: GrantClaims = {
  server: "documents",
  operationId: "1".repeat(64),
  scope: "local",
  threadId: "t1",
  tool: "save_report",
  toolDigest: "2".repeat(64),
  argumentsDigest: "3".repeat(64),
  approver: "ann",
};
const mint = (more: Partial<GrantClaims> = {}, ttlMs = 60_000) =>
  mintGrant({ ...CLAIMS, ...more }, SECRET, { now: NOW, ttlMs });
const part = (grant: string, index: number) =>
  JSON.parse(Buffer.from(grant.split(".")[index] as string, "base64url").toString("utf8")) as unknown;

describe("grant", () => {
  test("says what was approved, for whom, by whom, and until when (G4, grant-1)", async () => {
    const grant = await mint();
    expect(part(grant, 0)).toEqual({ alg: "HS256", typ: "toolgate-grant+jwt" });
    expect(part(grant, 1)).toEqual({
      iss: "toolgate",
      aud: "documents",
      jti: "1".repeat(64),
      iat: 1_800_000_000,
      exp: 1_800_000_060,
      scope: "local",
      thread: "t1",
      tool: "save_report",
      toolDigest: "2".repeat(64),
      argumentsDigest: "3".repeat(64),
      approver: "ann",
    });
    expect(part(await mint({ approver: null }), 1)).toMatchObject({ approver: null });
  });

  test("lives for whole seconds, never less than one", async () => {
    expect(part(await mint({}, 1), 1)).toMatchObject({ exp: 1_800_000_001 });
    expect(part(await mint({}, 1_001), 1)).toMatchObject({ exp: 1_800_000_002 });
  });

  test("verifies under its key until it expires, and under no other", async () => {
    const grant = await mint();
    const verify = (secret: string, at: number) =>
      jwtVerify(grant, new TextEncoder().encode(secret), { algorithms: ["HS256"], currentDate: new Date(at) });
    await expect(verify(SECRET, NOW + 59_000)).resolves.toMatchObject({ payload: { jti: "1".repeat(64) } });
    await expect(verify(SECRET, NOW + 60_000)).rejects.toThrow('"exp" claim timestamp check failed');
    await expect(verify(`${SECRET}x`, NOW)).rejects.toThrow("signature verification failed");
  });

  test("is refused when it would be longer than a server takes, or its key too short to be one", async () => {
    await expect(mint({ threadId: "t".repeat(2_000) })).rejects.toThrow(
      /^the grant has \d{4} characters, at most 2048/,
    );
    await expect(mintGrant(CLAIMS, "short", { now: NOW, ttlMs: 1 })).rejects.toThrow("less than 32 bytes");
  });

  test("a part of it is taken out, too, once the redactor was told (G11)", async () => {
    const { redact, hide } = openRedactor([SECRET], [GRANT_START]);
    const [, claims, signature] = (await mint()).split(".") as [string, string, string];
    for (const part of [claims, signature]) hide(part);
    expect(redact(`invalid signature: ${claims}.${signature}`)).toBe("invalid signature: [redacted].[redacted]");
    expect(redact(`sig=${encodeURIComponent(signature)}; ${SECRET}`)).toBe("sig=[redacted]; [redacted]");
    for (let n = 0; n < 255; n++) hide(`another-${n}`);
    expect(redact(signature)).toBe("[redacted]");
    hide("one-too-many");
    expect(redact(signature)).toBe(signature); // by then it has expired
  });

  test("for all claims: nothing of a grant is left where secrets are taken out of text (grant-2, G11)", async () => {
    const redact = createRedactor([SECRET], [GRANT_START]);
    const text = fc.string({ unit: "grapheme", maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(text, text, text, text, async (threadId, approver, before, after) => {
        const grant = await mint({ threadId, approver });
        expect(grant.startsWith(`${GRANT_START}.`)).toBe(true);
        const [, claims, signature] = grant.split(".") as [string, string, string];
        const forms = [
          `${before} ${grant} ${after}`,
          JSON.stringify({ [before]: { token: grant } }),
          encodeURIComponent(`${before}?token=${grant}&${after}`),
          Buffer.from(`${before} ${grant}`).toString("base64"),
        ];
        for (const form of forms) {
          const shown = redact(form);
          expect(shown).toContain("[redacted]");
          for (const rest of [claims, signature, Buffer.from(signature).toString("base64").slice(4, -4)])
            expect(shown).not.toContain(rest);
          expect(redact(shown)).toBe(shown);
        }
      }),
      { numRuns: 60, seed: 20261130 },
    );
  });
});
