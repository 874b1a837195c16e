import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRedactor } from "../../src/observation/index.js";

const base64 = (text: string) => Buffer.from(text, "utf8").toString("base64");
const base64url = (text: string) => Buffer.from(text, "utf8").toString("base64url");

describe("redaction", () => {
  const secret = 'tok/en+"s3cr€t';
  const redact = createRedactor([secret, "short", "tok/en"]);

  it.each([
    ["as it is", secret, "x [redacted] y"],
    ["as JSON text", 'tok/en+\\"s3cr€t', "x [redacted] y"],
    ["URL-encoded", encodeURIComponent(secret), "x [redacted] y"],
    ["URL-encoded in lower case", "tok%2fen%2b%22s3cr%e2%82%act", "x [redacted] y"],
    ["as Base64", base64(secret), "x [redacted] y"],
    ["as Base64url", base64url(secret), "x [redacted] y"],
  ])("takes a secret out %s (S1)", (_, form, expected) => {
    expect(redact(`x ${form} y`)).toBe(expected);
  });

  it("takes out the longest of two secrets, and the shorter one where it stands alone", () => {
    expect(redact(`${secret} tok/en`)).toBe("[redacted] [redacted]");
  });

  it("leaves values below six characters, and everything without secrets", () => {
    expect(redact("short")).toBe("short");
    expect(createRedactor([])("anything")).toBe("anything");
  });

  it("finds a secret inside something longer that was encoded, at each alignment (S1)", () => {
    const key = "correct-horse-battery";
    const hide = createRedactor([key]);
    for (const before of ["", "a", "ab", "abc", "user:"]) {
      const hidden = hide(base64(`${before}${key}${before}`));
      expect(hidden).toContain("[redacted]");
      expect(Buffer.from(hidden.replace("[redacted]", ""), "base64").toString("latin1")).not.toContain("horse");
    }
  });

  it("uses a mark that no secret can reach into (S2)", () => {
    expect(createRedactor(["redacted"])("redacted")).toBe("[]");
    expect(createRedactor(["[redacted]"])("[redacted]")).toBe("<redacted>");
    const all = createRedactor(["[]<>(){}", "‹›«»▀x"]);
    expect(all("[]<>(){}")).toBe("▁redacted▁");
  });

  it("never leaves a secret in any form, and is idempotent (property, S1, S2)", () => {
    const value = fc.string({
      minLength: 6,
      maxLength: 14,
      unit: fc.constantFrom("a", "b", "[", "]", "/", "%", "é", " "),
    });
    const filler = fc.string({ maxLength: 6, unit: fc.constantFrom("a", "b", "[", "]", "é") });
    fc.assert(
      fc.property(
        fc.array(value, { minLength: 1, maxLength: 4 }),
        fc.array(filler, { maxLength: 5 }),
        (secrets, fillers) => {
          const hide = createRedactor(secrets);
          const forms = secrets.flatMap((item) => [
            item,
            JSON.stringify(item).slice(1, -1),
            encodeURIComponent(item),
            base64(item),
            base64url(item),
          ]);
          const said = forms
            .map((form, index) => `${fillers[index % Math.max(1, fillers.length)] ?? ""}${form}`)
            .join("");
          const hidden = hide(said);
          for (const form of forms) expect(hidden).not.toContain(form);
          expect(hide(hidden)).toBe(hidden);
        },
      ),
      { numRuns: 300 },
    );
  });
});
