import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { foundIn, readBackArguments } from "../../src/execution/reconcile-facts.js";

const WRITE = { id: "a".repeat(64), arguments: { filename: "a.md", at: { line: 3 }, none: null } };

describe("the arguments of a read-back", () => {
  test("hold the write's id and arguments where the host names them, whole and nested", () => {
    const template = { id: "$operationId", where: ["$arguments.filename", { line: "$arguments.at" }], kind: "report" };
    expect(readBackArguments(template, WRITE)).toEqual({
      arguments: { id: "a".repeat(64), where: ["a.md", { line: { line: 3 } }], kind: "report" },
    });
    expect(readBackArguments({ none: "$arguments.none" }, WRITE)).toEqual({ arguments: { none: null } });
  });

  test("are text as it stands where it only looks like a name", () => {
    const template = { a: "$operationId!", b: " $arguments.filename", c: "$other" };
    expect(readBackArguments(template, WRITE)).toEqual({ arguments: template });
  });

  test("cannot be had without an argument they name, an inherited one included", () => {
    expect(readBackArguments({ a: "$arguments.missing" }, WRITE)).toEqual({
      problem: "the write has no argument `missing`",
    });
    expect(readBackArguments({ a: ["$arguments.toString"] }, WRITE)).toEqual({
      problem: "the write has no argument `toString`",
    });
  });
});

describe("what a read-back says", () => {
  test.each([
    ["happened", { data: { carried_out: true, final: true } }],
    ["happened", { data: { carried_out: true } }],
    ["did_not_happen", { data: { carried_out: false, final: true } }],
    ["nothing", { data: { carried_out: false, final: false } }],
    ["nothing", { data: { carried_out: false } }],
    ["nothing", { data: { carried_out: null, final: false } }],
    ["nothing", { data: { carried_out: "true" } }],
    ["nothing", { carried_out: true }],
    ["nothing", { data: [] }],
    ["nothing", undefined],
    ["nothing", null],
    ["nothing", "carried_out"],
  ] as const)("%s by %j (reconcile-facts-1) (reconcile-facts-2)", (found, content) => {
    expect(foundIn(content, {})).toBe(found);
  });

  test("by the host's own facts, all of them, to the letter of a JSON pointer (reconcile-facts-1)", () => {
    const reconcile = {
      happened: { "/total_count": 1, "/items/0/state": "open" },
      didNotHappen: { "/total_count": 0, "/a~1b/~0": null },
    };
    expect(foundIn({ total_count: 1, items: [{ state: "open" }] }, reconcile)).toBe("happened");
    expect(foundIn({ total_count: 1, items: [{ state: "closed" }] }, reconcile)).toBe("nothing");
    expect(foundIn({ total_count: 0, "a/b": { "~": null } }, reconcile)).toBe("did_not_happen");
    expect(foundIn({ total_count: 0 }, reconcile)).toBe("nothing");
  });

  test("met both ways it says nothing; a fact about what every object inherits is never met (reconcile-facts-1)", () => {
    expect(foundIn({ x: 1 }, { happened: { "/x": 1 }, didNotHappen: { "/x": 1 } })).toBe("nothing");
    expect(foundIn({}, { happened: { "/constructor/name": "Object" } })).toBe("nothing");
  });

  test("is total", () => {
    fc.assert(
      fc.property(fc.anything(), fc.string(), (content, name) => {
        expect(["happened", "did_not_happen", "nothing"]).toContain(
          foundIn(content, { happened: { [`/${name}`]: 1 } }),
        );
      }),
      { seed: 20261130 },
    );
  });
});
