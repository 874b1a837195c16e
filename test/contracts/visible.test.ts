// What a reader is known to see, and what is escaped.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { editable } from "../../src/approval/payload.js";
import {
  cutText,
  escapeHidden,
  hasHidden,
  headOf,
  oneLine,
  quoted,
  shown,
  tailOf,
  visibleJson,
} from "../../src/contracts/index.js";

const ZWNJ = "\u200C";
const ZWJ = "\u200D";

/** Text in which letters, marks, joiners, selectors, blanks and emoji meet in any order. */
const anyText = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        ...'ab1\\u{}"\n\t .ب\u06CCر\u064B\u0651कर\u094D\u093C\u09B0\u09CD\u09AF\u0CB0\u0CCDပ\u1039\u17D2ក😀👩❤👍🏽🏴\u2800\u3164\u00A0\u3000',
      ),
      fc.constantFrom(
        ZWNJ,
        ZWJ,
        "\uFE0F",
        "\uFE0E",
        "\u20E3",
        "\u0301",
        "\u0302",
        "\u034F",
        "\u202E",
        "\u2066",
        "\uD800",
        "\uDC00",
      ),
      fc.integer({ min: 0, max: 0x10ffff }).map((value) => String.fromCodePoint(value)),
    ),
    { maxLength: 24 },
  )
  .map((parts) => parts.join(""));

/** Every code point that the shown text may hold, wherever it stands: classes, marks, joiners and the two selectors. */
// biome-ignore lint/suspicious/noMisleadingCharacterClass: each of them is meant for itself
const CLASS = /^[\p{L}\p{N}\p{P}\p{S}\p{Mn}\p{Mc} \n\t\u200C\u200D\uFE0E\uFE0F\u20E3]*$/u;
const NEVER =
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: each of them is meant for itself
  /[\u2800\u115F\u1160\u3164\uFFA0\u00A0\u2000-\u200B\u200E\u200F\u2028-\u202F\u205F-\u206F\u3000\uFEFF\u034F\uFFFC\p{Co}\p{Cn}\p{Cs}\u{E0000}-\u{E0FFF}]/u;

// A server padded its description with braille blanks, so that its last words stood in a line of their own above the prompt.
test.each([
  ["the braille blank", "a\u2800b", "a\\u{2800}b"],
  ["Hangul's fillers", "\u115F\u1160\u3164\uFFA0", "\\u{115F}\\u{1160}\\u{3164}\\u{FFA0}"],
  ["other spaces", "a\u00A0b\u2003c\u3000d\u202Fe", "a\\u{A0}b\\u{2003}c\\u{3000}d\\u{202F}e"],
  ["what is not assigned, and private use", "\u0378\uE000\u{10FFFD}", "\\u{378}\\u{E000}\\u{10FFFD}"],
  ["tags, also after a flag", "🏴\u{E0067}\u{E007F}", "🏴\\u{E0067}\\u{E007F}"],
  ["controls of direction", "\u202Eabc\u2066", "\\u{202E}abc\\u{2066}"],
  ["a lone surrogate", "\uD83D!", "\\u{D83D}!"],
  ["a selector after no emoji", "a\uFE0F 1\uFE0F \uFE00", "a\\u{FE0F} 1\\u{FE0F} \\u{FE00}"],
  ["a joiner between Latin letters", `a${ZWNJ}b${ZWJ}c`, "a\\u{200C}b\\u{200D}c"],
  ["a joiner after a letter that never joins", `\u0631${ZWNJ}\u0647`, "\u0631\\u{200C}\u0647"],
  ["two joiners", `\u06CC${ZWNJ}${ZWNJ}\u0645`, "\u06CC\\u{200C}\\u{200C}\u0645"],
  ["a joiner of emoji that Unicode does not recommend", `😀${ZWJ}😀`, "😀\\u{200D}😀"],
  ["a joiner at the end of a family", `👩${ZWJ}👩${ZWJ}👧${ZWJ}`, `👩${ZWJ}👩${ZWJ}👧\\u{200D}`],
  ["a mark without a letter", "\u0301 .\u0301", "\\u{301} .\\u{301}"],
  ["a mark twice", "e\u0301\u0301", "e\u0301\\u{301}"],
  [
    "the fifth mark and those after it",
    "a\u0300\u0301\u0302\u0303\u0304\u0305",
    "a\u0300\u0301\u0302\u0303\\u{304}\\u{305}",
  ],
  ["a mark of another script", "a\u094D \u0915\u0e31", "a\\u{94D} \u0915\\u{E31}"],
  ["a stacker with nothing to stack", "\u1015\u1039 ", "\u1015\\u{1039} "],
])("%s is escaped (visible-1, visible-2, visible-3, visible-4)", (_, text, escaped) => {
  expect(hasHidden(text)).toBe(true);
  expect(escapeHidden(text)).toBe(escaped);
});

// Persian and a family's emoji were escaped, and a person could not edit arguments that held them.
test.each([
  ["Persian", `می${ZWNJ}خواهم نامه${ZWNJ}ها را به کتاب${ZWNJ}خانه بفرستم.`],
  ["Persian with a mark before the joiner", `کتابِ${ZWNJ}من`],
  ["Hindi", `राष्ट्रीय पक्ष का क्${ZWJ}ष और क्${ZWNJ}ष रूप`],
  ["Marathi", `दऱ्${ZWJ}या`],
  ["Bengali", `র${ZWJ}্যাব আজ ঢাকায়`],
  ["Kannada", `ರ${ZWJ}್ಕ ಕನ್ನಡ`],
  ["Sinhala", `ශ්${ZWJ}රී ලංකාව`],
  ["Malayalam", `അവന്${ZWJ} വന്നു`],
  ["Tamil", "தமிழ் மொழி"],
  ["Thai", "ราคาน้ำมันปรับขึ้นที่กรุงเทพฯ"],
  ["Lao", "ສະບາຍດີ ນ້ຳ"],
  ["Khmer", "ភាសាខ្មែរ ស្ត្រី"],
  ["Burmese", "မြန်မာနိုင်ငံ မြှို့ တက္ကသိုလ်"],
  ["Tibetan", "བོད་སྐད་ ཨོཾ"],
  ["Korean in letters", "안녕하세요 한국어".normalize("NFD")],
  ["Japanese in parts", "が ぎ パンダ".normalize("NFD")],
  ["Chinese", "请把文件发送到服务器。"],
  ["Vietnamese in parts", "Tiếng Việt rất đẹp, phở ngon".normalize("NFD")],
  ["Arabic with harakat", "بِسْمِ اللَّهِ الرَّحْمٰنِ الرَّحِيمِ"],
  ["Urdu", "یہ اُردو میں ہے۔"],
  ["Hebrew with points", "בְּרֵאשִׁית בָּרָא"],
  ["Russian in parts", "Ёлка и йод".normalize("NFD")],
  ["Greek in parts", "Καλημέρα σας, ώρα".normalize("NFD")],
  ["Polish, German, Turkish, French", "Zażółć — Straße ışık « déjà-vu » 5 €"],
  ["Amharic, Georgian, Armenian", "አማርኛ ქართული Հայերեն"],
  ["families", "👨‍👩‍👧‍👦 👩🏻‍❤️‍💋‍👨🏿 👩🏿‍🚀 🕵🏽‍♂️"],
  ["flags", "🇩🇪 🇯🇵 🏳️‍🌈 🏴‍☠️"],
  ["keycaps, selectors and skin", "1️⃣ #️⃣ ❤️ ❤︎ ⚠️ 👍🏽"],
])("%s is shown as it is, and can be edited (visible-2, visible-3)", (_, text) => {
  expect(escapeHidden(text)).toBe(text);
  expect(shown(text)).toBe(text);
  expect(oneLine(text, 1_000)).toBe(text);
  expect(editable({ [text]: [text] })).toBe(true);
  expect(JSON.parse(quoted(text))).toBe(text);
});

describe("for all texts", () => {
  test("what is shown has no code point outside of the class, and nothing hidden (property, G10)", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        for (const made of [
          escapeHidden(text),
          shown(text),
          oneLine(text),
          quoted(text),
          visibleJson({ [text]: text }),
        ]) {
          expect(made).toMatch(CLASS);
          expect(made).not.toMatch(NEVER);
          expect(hasHidden(made)).toBe(false);
        }
        expect(escapeHidden(escapeHidden(text))).toBe(escapeHidden(text));
        expect(hasHidden(text)).toBe(escapeHidden(text) !== text);
      }),
      { numRuns: 500 },
    );
  });

  test("two texts are never shown alike: the text can be read back from what is shown (property)", () => {
    const readBack = (made: string) =>
      made.replace(/\\u\{([0-9A-F]+)\}/g, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)));
    fc.assert(
      fc.property(anyText, fc.constantFrom("\\u{202E}", "\\u{5C}", "\\u{5c}u{41}", "\\", ""), (text, more) => {
        expect(readBack(shown(text + more))).toBe(text + more);
        expect(readBack(shown(more + text))).toBe(more + text);
      }),
      { numRuns: 500 },
    );
    expect([shown("\u202E"), shown("\\u{202E}"), shown("\\u{5C}u{202E}")]).toEqual([
      "\\u{202E}",
      "\\u{5C}u{202E}",
      "\\u{5C}u{5C}u{202E}",
    ]);
  });

  // A mark after a line feed was drawn over the `n` of the escape `\n`, and counted as visible.
  test("in JSON each string is judged for itself", () => {
    expect(visibleJson({ "k\n\u0301": ["\u0301", "e\u0301\u202E"] })).toBe(
      '{"k\\n\\u{301}":["\\u{301}","e\u0301\\u{202E}"]}',
    );
  });

  test("no character is cut, and no text grows (property)", () => {
    const characters = fc.array(fc.constantFrom("👨‍👩‍👧‍👦", "e\u0301", "क्षि", "🇩🇪", "a", "\u202E"), { maxLength: 30 });
    const ends = (text: string) => {
      const at = [0];
      for (const { segment, index } of new Intl.Segmenter("en").segment(text)) at.push(index + segment.length);
      return at;
    };
    fc.assert(
      fc.property(characters, fc.integer({ min: 1, max: 80 }), (parts, most) => {
        const text = escapeHidden(parts.join(""));
        const cut = cutText(text, most);
        expect(cut.length).toBeLessThanOrEqual(most);
        if (cut !== text) expect(ends(text)).toContain(cut.length - 1);
        expect(ends(text)).toContain(headOf(text, most).length);
        expect(ends(text)).toContain(text.length - tailOf(text, most).length);
        expect(cut).not.toMatch(/\\(u(\{[0-9A-F]*)?)?…$/);
      }),
    );
  });
});
