import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRedactor, holdsSecret, mayHoldSecret, rewordDefinition } from "../../src/observation/index.js";

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
  ])("takes a secret out %s (redact-1)", (_, form, expected) => {
    expect(redact(`x ${form} y`)).toBe(expected);
  });

  it("takes out the longest of two secrets, and the shorter one where it stands alone", () => {
    expect(redact(`${secret} tok/en`)).toBe("[redacted] [redacted]");
  });

  it("leaves values below six characters, and everything without secrets", () => {
    expect(redact("short")).toBe("short");
    expect(createRedactor([])("anything")).toBe("anything");
  });

  it("finds a secret inside something longer that was encoded, at each alignment (redact-1)", () => {
    const key = "correct-horse-battery";
    const hide = createRedactor([key]);
    for (const before of ["", "a", "ab", "abc", "user:"]) {
      const hidden = hide(base64(`${before}${key}${before}`));
      expect(hidden).toContain("[redacted]");
      expect(Buffer.from(hidden.replace("[redacted]", ""), "base64").toString("latin1")).not.toContain("horse");
    }
  });

  it("uses a mark that no secret can reach into (redact-2)", () => {
    expect(createRedactor(["redacted"])("redacted")).toBe("[]");
    expect(createRedactor(["[redacted]"])("[redacted]")).toBe("<redacted>");
    const all = createRedactor(["[]<>(){}", "‹›«»▀x"]);
    expect(all("[]<>(){}")).toBe("▁redacted▁");
  });

  it("never leaves a secret in any form, and is idempotent (property, redact-1, redact-2)", () => {
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

describe("a definition", () => {
  const secret = 'a"b\\c1';
  const redact = createRedactor([secret, "123456"]);
  const text = fc.oneof(
    fc.string({ maxLength: 8 }),
    fc.constantFrom(secret, JSON.stringify(secret), `x${secret}`, "123456", "123", "456", "__proto__"),
  );
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      text,
      fc.constantFrom(123456, 7, true, null),
      fc.array(tie("value"), { maxLength: 3 }),
      fc
        .array(fc.tuple(fc.oneof(text, fc.constantFrom("description", "properties", "default")), tie("value")), {
          maxLength: 3,
        })
        .map((entries) => Object.fromEntries(entries)),
    ),
  }));

  it("that a quick look finds nothing in is left as it is by the thorough one (property)", () => {
    let quiet = 0;
    fc.assert(
      fc.property(value, (definition) => {
        if (mayHoldSecret(definition, redact)) return;
        quiet += 1;
        expect(holdsSecret(definition, redact)).toBe(false);
        expect(rewordDefinition(definition, redact)).toEqual(definition);
      }),
      { numRuns: 1_000 },
    );
    expect(quiet).toBeGreaterThan(100);
  });

  it("holds a secret in a string or a key, and not where two strings only read like one side by side", () => {
    expect(holdsSecret({ a: [secret] }, redact)).toBe(true);
    expect(holdsSecret({ [`k${secret}`]: 1 }, redact)).toBe(true);
    expect(holdsSecret({ a: ['a"b', "\\c1"] }, createRedactor(['a"b\n\\c1']))).toBe(false);
    expect(holdsSecret({ a: 123456 }, redact)).toBe(false);
    expect(mayHoldSecret({ a: 123456 }, redact)).toBe(true);
  });

  it("is copied when it is reworded, keys named like the prototype included", () => {
    const given = JSON.parse('{"description":"123456","__proto__":{"default":123456}}');
    const said = rewordDefinition(given, redact) as Record<string, unknown>;
    expect(JSON.stringify(said)).toBe('{"description":"[redacted]","__proto__":{"default":"[redacted]"}}');
    expect(Object.getPrototypeOf(said)).toBe(Object.prototype);
  });
});
