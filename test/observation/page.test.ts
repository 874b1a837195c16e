import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { resultPage, toBody } from "../../src/observation/index.js";
import { text } from "./fixtures.js";

describe("a page of a stored result", () => {
  const body = toBody(text("añb", "€uro"));

  it("counts bytes of the readable text and never splits a code point (paging-1)", () => {
    expect(resultPage(body, 0, 2)).toEqual({ text: "a", next: 1, total: 11 });
    expect(resultPage(body, 1, 2)).toEqual({ text: "ñ", next: 3, total: 11 });
    expect(resultPage(body, 2, 2)).toEqual({ text: "ñ", next: 3, total: 11 });
    expect(resultPage(body, 3, 100)).toEqual({ text: "b\n€uro", total: 11 });
  });

  it("gives at least one character, and nothing past the end", () => {
    expect(resultPage(body, 5, 1)).toEqual({ text: "€", next: 8, total: 11 });
    expect(resultPage(body, 11, 10)).toEqual({ text: "", total: 11 });
    expect(resultPage(body, 500, 10)).toEqual({ text: "", total: 11 });
    expect(resultPage(body, -5, 1)).toEqual({ text: "a", next: 1, total: 11 });
    expect(resultPage(body, Number.NaN, 1)).toEqual({ text: "a", next: 1, total: 11 });
  });

  it("cleans what it shows", () => {
    expect(resultPage(toBody(text("\u001b[2J")), 0, 100)).toEqual({ text: "\\u{1B}[2J", total: 9 });
  });

  it("read on from one to the next gives the whole text, once (property, paging-2)", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 60 }), fc.integer({ min: 1, max: 9 }), (said, size) => {
        const stored = toBody(text(said));
        let read = "";
        let next: number | undefined = 0;
        while (next !== undefined) {
          const page = resultPage(stored, next, size);
          if (page.next !== undefined) expect(page.next).toBeGreaterThan(next);
          read += page.text;
          next = page.next;
        }
        expect(read).toBe(resultPage(stored, 0, 1_000_000).text);
      }),
    );
  });
});
