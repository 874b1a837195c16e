// The storable form of any value a model's adapter may leave in a message.

import fc from "fast-check";
import { expect, it, test } from "vitest";
import { storable, storableRecord, storableText, survives } from "../../src/observation/index.js";

const thrower = () =>
  new Proxy(
    {},
    {
      ownKeys() {
        throw new Error("no keys");
      },
    },
  );

it("takes any value, survives every checkpointer, and is its own storable form (property) (storable-1) (storable-2)", () => {
  const any = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withTypedArray: true,
    withNullPrototype: true,
    withObjectString: true,
    key: fc.oneof(
      fc.string({ maxLength: 4 }),
      fc.constantFrom("lc", "__lc_escaped__", "__proto__", "toJSON", "\ud800"),
    ),
    values: [
      fc.boolean(),
      fc.double(),
      fc.string({ unit: "binary" }),
      fc.constantFrom(undefined, null, Symbol("s"), () => 1),
    ],
    maxDepth: 5,
  });
  fc.assert(
    fc.property(any, (value) => {
      const once = storable(value);
      expect(survives(once)).toBe(true);
      expect(storable(once)).toEqual(once);
      if (once !== undefined)
        expect(JSON.parse(JSON.stringify(once))).toEqual(once === 0 ? 0 : JSON.parse(JSON.stringify(storable(once))));
      expect(survives(storableRecord(value))).toBe(true);
    }),
    { numRuns: 500 },
  );
});

// An adapter kept a handle of its own in a message. Reading its keys threw, and the run failed after the model had answered.
test("what cannot be read has a text or is left out", () => {
  expect(storable(thrower())).toBe("[not shown: it has no JSON text]");
  expect(storable({ a: thrower(), b: 1 })).toEqual({ a: "[not shown: it has no JSON text]", b: 1 });
  const forever = { toJSON: (): unknown => ({ ...forever }) };
  expect(typeof storable(forever)).toBe("string");
  expect(storableText("a\0b\udc00")).toBe("a\ufffdb\ufffd");
  expect(storableRecord({ lc: 1, a: 1 })).toEqual({ a: 1 });
});
