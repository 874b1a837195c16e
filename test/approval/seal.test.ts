import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { seal, sealed } from "../../src/approval/index.js";
import type { Verdict } from "../../src/contracts/index.js";

const SECRET = "0123456789abcdef0123456789abcdef";
const VERDICT: Omit<Verdict, "mac"> = {
  approvalId: "a1",
  operationId: "1".repeat(64),
  threadId: "thread",
  scope: "local",
  argumentsDigest: "2".repeat(64),
  toolDigest: "3".repeat(64),
  type: "approve",
  approver: "ann",
  at: 1_767_323_045_000,
  expiresAt: 1_767_326_645_000,
};

describe("seal", () => {
  test("is HMAC-SHA256 over the canonical JSON of every other field", () => {
    expect(seal(VERDICT, SECRET)).toEqual({
      ...VERDICT,
      mac: "27d97eb3d8f9c57873211ff674ec0f8cfcdff2ca8376b0d65b246f42ece1cd47",
    });
  });

  test("does not depend on the order of fields, nor on a message that is undefined", () => {
    const reversed = Object.fromEntries(Object.entries(seal(VERDICT, SECRET)).reverse()) as Verdict;
    expect(sealed(reversed, SECRET)).toBe(true);
    expect(sealed({ ...reversed, message: undefined } as unknown as Verdict, SECRET)).toBe(true);
  });

  test.each(Object.keys(VERDICT) as (keyof typeof VERDICT)[])("a changed `%s` breaks it (seal-1, G4)", (field) => {
    const verdict = seal(VERDICT, SECRET);
    const value = verdict[field];
    const changed = field === "type" ? "reject" : typeof value === "number" ? value + 1 : `${value}x`;
    expect(sealed({ ...verdict, [field]: changed }, SECRET)).toBe(false);
    const { [field]: _gone, ...rest } = verdict;
    expect(sealed(rest as Verdict, SECRET)).toBe(false);
  });

  test("where the call goes is covered (seal-1, G4)", () => {
    const verdict = seal({ ...VERDICT, destination: "4".repeat(64) }, SECRET);
    expect(sealed(verdict, SECRET)).toBe(true);
    expect(sealed({ ...verdict, destination: "5".repeat(64) }, SECRET)).toBe(false);
    expect(sealed({ ...VERDICT, mac: verdict.mac }, SECRET)).toBe(false);
  });

  test("a field that is added breaks it (seal-1)", () => {
    const verdict = seal(VERDICT, SECRET);
    expect(sealed({ ...verdict, message: "" }, SECRET)).toBe(false);
    expect(sealed({ ...verdict, admin: true } as Verdict, SECRET)).toBe(false);
  });

  test.each(["", "0", "zz", "0".repeat(64), "0".repeat(128)])("the MAC `%s` is refused", (mac) => {
    expect(sealed({ ...VERDICT, mac }, SECRET)).toBe(false);
  });

  test("another secret refuses it (G4)", () => {
    expect(sealed(seal(VERDICT, SECRET), `${SECRET}x`)).toBe(false);
  });

  test("for all verdicts and secrets: it verifies, and no other verdict does under the same MAC", () => {
    const verdict = fc.record({
      approvalId: fc.string(),
      operationId: fc.string(),
      threadId: fc.string({ unit: "binary" }),
      scope: fc.string(),
      argumentsDigest: fc.string(),
      toolDigest: fc.string(),
      type: fc.constantFrom("approve" as const, "reject" as const, "edit" as const),
      approver: fc.string({ unit: "binary" }),
      at: fc.nat(),
      expiresAt: fc.nat(),
      message: fc.string({ unit: "binary" }),
    });
    fc.assert(
      fc.property(verdict, verdict, fc.string({ minLength: 32 }), (one, two, secret) => {
        const { mac } = seal(one, secret);
        expect(sealed({ ...one, mac }, secret)).toBe(true);
        expect(sealed({ ...two, mac }, secret)).toBe(JSON.stringify(one) === JSON.stringify(two));
      }),
    );
  });
});
