import { describe, expect, test } from "vitest";
import { jsonLine, readArguments } from "../../src/cli/json-line.js";
import { hasHidden } from "../../src/contracts/index.js";

describe("printed JSON steers no terminal and loses nothing (cli-json-1)", () => {
  test("controls, direction marks and tags are escaped", () => {
    const value = { a: "\u001b[31m\u009b1m\u202e\u2028\u200b\u{E0041}é語" };
    const line = jsonLine(value);
    expect(line).toBe('{"a":"\\u001b[31m\\u009b1m\\u202e\\u2028\\u200b\\udb40\\udc41é語"}');
    expect(JSON.parse(line)).toEqual(value);
  });

  test("every code point that other output makes visible is escaped here too", () => {
    for (const hidden of ["\u3164", "\u115f", "\u034f", "\ufe00", "\u{e0100}"]) {
      const line = jsonLine({ a: `x${hidden}y` });
      expect(line).toMatch(/^\{"a":"x(?:\\u[0-9a-f]{4}){1,2}y"\}$/);
      expect(hasHidden(line)).toBe(false);
      expect(JSON.parse(line)).toEqual({ a: `x${hidden}y` });
    }
  });
});

describe("typed JSON is read strictly (cli-json-2)", () => {
  test("an object", () => {
    expect(readArguments('{"a": [1, null]}')).toEqual({ value: { a: [1, null] } });
  });

  test.each([
    ['{"a":1,"a":2}', "line 1, column 8: the key `a` stands twice in one object, first at line 1"],
    ["{a:1}", "line 1, column 2: expected a key in double quotes, found `a`"],
    ["", "line 1, column 1: expected a value, found the end of the text"],
    ["[1]", 'arguments are a JSON object, such as {"path": "a.txt"}'],
    ["null", 'arguments are a JSON object, such as {"path": "a.txt"}'],
    ['{"__proto__":1}', "line 1, column 2: a key named `__proto__` is not taken"],
  ])("%j is refused", (text, problem) => {
    expect(readArguments(text)).toEqual({ problem });
  });
});
