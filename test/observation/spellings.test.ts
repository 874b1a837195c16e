// Spellings of a secret in text, and what redaction costs.

import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { Ring } from "../../src/adapters/mcp/ring.js";
import { createNameRedactor, createRedactor, openRedactor } from "../../src/observation/index.js";

const hex = (code: number, digits: number) => code.toString(16).padStart(digits, "0");
/** Ways to write one character. */
const WAYS: ((char: string) => string)[] = [
  (char) => char,
  (char) => `\\u${hex(char.charCodeAt(0), 4)}`,
  (char) => `\\u${hex(char.charCodeAt(0), 4).toUpperCase()}`,
  (char) => `\\x${hex(char.charCodeAt(0), 2)}`,
  (char) => `%${hex(char.charCodeAt(0), 2)}`,
  (char) => `%${hex(char.charCodeAt(0), 2).toUpperCase()}`,
  (char) => `&#${char.charCodeAt(0)};`,
  (char) => `&#x${hex(char.charCodeAt(0), 2)};`,
];
const written = (secret: string, ways: readonly number[]) =>
  [...secret]
    .map((char, at) => {
      const way = ways[at % ways.length] ?? 0;
      const must = way === 0 && ways.some((other) => other > 0) && "\\%&".includes(char); // who escapes escapes these first
      return (WAYS[must ? 1 : way] as (char: string) => string)(char);
    })
    .join("");

describe("a secret is found (redact-1)", () => {
  const secret = "Pa/ss-w0rd&Key";
  const redact = createRedactor([secret]);
  // A server answered in HTML, or in JSON that escapes every slash, and the token stood in it for anybody to read.
  it.each([
    ["in upper case", "PA/SS-W0RD&KEY"],
    ["in lower case", "pa/ss-w0rd&key"],
    ["in hex", Buffer.from(secret).toString("hex")],
    ["in upper-case hex", Buffer.from(secret).toString("hex").toUpperCase()],
    ["with its slash escaped", "Pa\\/ss-w0rd&Key"],
    ["with one character of JSON", "Pa/ss-w0rd\\u0026Key"],
    ["with every character of JSON", written(secret, [1])],
    ["with every character of JSON that is in JSON", JSON.stringify(written(secret, [1])).slice(1, -1)],
    ["with one character of HTML", "Pa/ss-w0rd&amp;Key"],
    ["with every character of HTML", written(secret, [6])],
    ["with every character of a URL", written(secret, [4])],
    ["with every character of a URL in a URL", encodeURIComponent(encodeURIComponent(written(secret, [5])))],
    ["behind a backslash of the text", `\\${written(secret, [1])}`],
    ["behind a byte that is no character", `%ff${written(secret, [4])}`],
    ["with a space as plus", "my+pass+word", "my pass word"],
    ["in several lines, as JSON has them", "line-one\\nline-two", "line-one\nline-two"],
    ["with letters of more than one byte", "%C3%BCber-geheim", "über-geheim"],
    ["in upper case that is longer", "STRASSE-7", "straße-7"],
  ])("%s", (_how, said, whose = secret) => {
    const hide = whose === secret ? redact : createRedactor([whose]);
    const shown = hide(`before ${said} after`);
    expect(shown).toMatch(/^before (\\|%ff)?\[redacted\] after$/);
  });

  // A space stands before what is escaped: `%2` and an `a` are together one character to whoever reads URLs.
  it("in any mixture of spellings, between any texts; twice gives the same (property, redact-2)", () => {
    const value = fc.string({ minLength: 6, maxLength: 20, unit: fc.constantFrom(...'abZ9/\\%&;u0x#+ "') });
    const filler = fc.string({ maxLength: 8, unit: fc.constantFrom(...'ab\\%&u0;2[]< "') });
    fc.assert(
      fc.property(
        fc.array(value, { minLength: 1, maxLength: 4 }),
        fc.array(fc.tuple(filler, fc.nat(3), fc.array(fc.nat(WAYS.length - 1), { minLength: 1, maxLength: 5 })), {
          maxLength: 6,
        }),
        filler,
        (secrets, parts, end) => {
          const hide = createRedactor(secrets);
          const said = parts.map(
            ([before, which, ways]) =>
              [
                ways.some((way) => way > 0) ? `${before} ` : before,
                written(secrets[which % secrets.length] as string, ways),
              ] as const,
          );
          const shown = hide(said.flat().join("") + end);
          for (const [, spelled] of said) if (spelled.length >= 6) expect(shown).not.toContain(spelled);
          for (const one of secrets)
            for (const form of [
              one,
              one.toUpperCase(),
              one.toLowerCase(),
              JSON.stringify(one).slice(1, -1),
              Buffer.from(one).toString("hex"),
              Buffer.from(one).toString("base64"),
            ])
              expect(shown).not.toContain(form);
          expect(hide(shown)).toBe(shown);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("takes any text (total), and leaves text without a secret as it is", () => {
    const hide = createRedactor(["Pa/ss-w0rd&Key", "\ud800lone-half", "İstanbul-σς"]);
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
        expect(hide(text)).toBe(text);
      }),
    );
    expect(hide("a İSTANBUL-ΣΣ b \ud800LONE-HALF c")).toBe("a [redacted] b [redacted] c");
    expect(hide("\\u{110000} \\ud800 %e2%82 &#99999999; \\")).toBe("\\u{110000} \\ud800 %e2%82 &#99999999; \\");
  });

  it("a value that is learned later is found in the same spellings, beside the others", () => {
    const { redact: hide, hide: learn } = openRedactor(["first-secret"], ["eyJ0eXAiOiJ0"]);
    expect(hide("later-secret first-secret")).toBe("later-secret [redacted]");
    learn("later-secret");
    expect(hide("LATER-SECRET later%2Dsecret first\\u002dsecret eyJ0eXAiOiJ0.abc-def.")).toBe(
      "[redacted] [redacted] [redacted] [redacted]",
    );
  });
});

// The name of a setting was "search". Every tool that took a "Search" would have been withheld.
test("in a name a secret has its own case and no escapes but those of JSON and URLs", () => {
  const names = createNameRedactor(["Search/1"]);
  expect(names("x Search/1 Search%2F1 search/1 SEARCH/1 Search\\u002f1")).toBe(
    "x [redacted] [redacted] search/1 SEARCH/1 Search\\u002f1",
  );
});

describe("time (redact-3)", () => {
  const secrets = Array.from(
    { length: 50 },
    (_, n) => `${Buffer.from(`secret number ${n}`).toString("base64")}/${"a".repeat(n)}${n}`,
  );
  const redact = createRedactor(secrets);
  const MB = 1_000_000;
  const fill = (piece: string, length = MB) => piece.repeat(Math.ceil(length / piece.length)).slice(0, length);
  const timeOf = (text: string) => {
    const since = process.cpuUsage();
    redact(text);
    const { user, system } = process.cpuUsage(since);
    return (user + system) / 1000;
  };

  // One line of a server's log had a megabyte of backslashes. Redacting it held up the process.
  it.each([
    ["words", "The quick brown fox jumps. "],
    ["one letter", "a"],
    ["backslashes", "\\"],
    ["percent signs", "%25"],
    ["ampersands", "&amp;"],
    ["escapes", "\\u0061"],
    ["nearly a secret", (secrets[49] as string).slice(0, -1)],
    ["digits", "0123456789abcdef"],
  ])("a megabyte of %s and 50 secrets: a bounded time, which doubles with the text", (_what, piece) => {
    timeOf(fill(piece)); // compiled by now
    const [half, whole] = [timeOf(fill(piece, MB / 2)), timeOf(fill(piece))];
    expect(whole).toBeLessThan(3_000); // measured: 20 to 300 ms of the processor
    expect(whole).toBeLessThan(8 * half + 200); // a square would be four times as long or more at each doubling, and minutes in all
  });
});

// A secret came in two chunks of a child's stderr, and each half was shown.
test("stderr: no listed spelling is left, wherever the chunks end and the ring was cut (property)", () => {
  const secrets = ["Pa/ss-w0rd&Key", "line-one-of-two\nline-two-of-two"];
  const parts = [...secrets, "line-one-of-two", "line-two-of-two"]; // what the configuration's parts add
  const redact = createRedactor(parts);
  const spelled = fc
    .tuple(fc.constantFrom(...parts), fc.array(fc.nat(WAYS.length - 1), { minLength: 1, maxLength: 3 }))
    .map(([one, ways]) => written(one, ways));
  const line = fc
    .tuple(fc.constantFrom("", "key=", "x".repeat(5_000)), spelled, fc.constantFrom("\n", " ok\n", "\n\n"))
    .map((all) => all.join(""));
  fc.assert(
    fc.property(
      fc.array(line, { minLength: 1, maxLength: 6 }),
      fc.array(fc.integer({ min: 1, max: 4_000 }), { minLength: 1, maxLength: 5 }),
      (lines, sizes) => {
        const bytes = Buffer.from(lines.join(""));
        const ring = new Ring();
        for (let at = 0, n = 0; at < bytes.length; n++) {
          const size = sizes[n % sizes.length] as number;
          ring.push(bytes.subarray(at, at + size));
          at += size;
        }
        const shown = redact(ring.lastLines(20));
        for (const one of [...parts, "ss-w0rd", "one-of-two", "two-of-two"]) expect(shown).not.toContain(one);
        expect(redact(shown)).toBe(shown);
      },
    ),
    { numRuns: 150 },
  );
});
