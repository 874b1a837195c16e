import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assemble, loadSnapshot, type ServerListing } from "../../src/catalog/index.js";
import { canonicalJson, canonicalObject, digest, notHashable, sha256 } from "../../src/contracts/index.js";
import { aliases, listing, options, snapshotOf, tool } from "./helpers.js";

const RUNS = { numRuns: 150 };

const name = fc.string({ unit: fc.constantFrom("a", "b", ".", "_", "-", "/", "名", "é"), minLength: 1, maxLength: 90 });
const text = fc.string({ maxLength: 20 });
const parameters = fc.dictionary(
  fc.constantFrom("q", "n", "toString", "a.b"),
  fc.constantFrom({ type: "string" }, true, {}),
);
const rawTool = fc.record({
  name,
  title: text,
  description: text,
  inputSchema: parameters.map((properties): Record<string, unknown> => ({ type: "object", properties })),
  outputSchema: fc.constant<Record<string, unknown>>({ type: "object" }),
  annotations: fc.record({ readOnlyHint: fc.boolean() }),
});
const server = fc.tuple(name, fc.uniqueArray(rawTool, { maxLength: 6, selector: (raw) => raw.name }));
const servers = fc.uniqueArray(server, { maxLength: 4, selector: ([key]) => key });
const catalog = servers.map((all): ServerListing[] => all.map(([key, tools]) => listing(key, tools)));

/** The same value with the keys of every object in the opposite order. */
function mirrored(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(mirrored);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, item]) => [key, mirrored(item)]),
  );
}

describe("for every catalog", () => {
  it("the snapshot is the same whatever the order of servers, tools and keys (assemble-1)", () => {
    fc.assert(
      fc.property(catalog, (listings) => {
        const turned = listings.map((one) => ({ ...one, tools: one.tools.map(mirrored).reverse() })).reverse();
        expect(snapshotOf(turned)).toEqual(snapshotOf(listings));
      }),
      RUNS,
    );
  });

  it("every alias is one providers take, and no two are equal (collide-1)", () => {
    fc.assert(
      fc.property(catalog, (listings) => {
        const all = aliases(snapshotOf(listings));
        expect(all.filter((alias) => !/^[A-Za-z0-9_-]{1,64}$/.test(alias))).toEqual([]);
        expect(new Set(all).size).toBe(all.length);
      }),
      RUNS,
    );
  });

  it("every tool is either published or withheld, by name (assemble-2)", () => {
    fc.assert(
      fc.property(catalog, (listings) => {
        const { tools, withheld } = snapshotOf(listings);
        const listed = listings.flatMap((one) => one.tools).length;
        expect(tools.length + withheld.length).toBe(listed);
      }),
      RUNS,
    );
  });

  it.each([
    ["name", (raw: Record<string, unknown>) => ({ ...raw, name: `${raw.name}x` })],
    ["title", (raw: Record<string, unknown>) => ({ ...raw, title: `${raw.title}x` })],
    ["description", (raw: Record<string, unknown>) => ({ ...raw, description: `${raw.description}x` })],
    [
      "inputSchema",
      (raw: Record<string, unknown>) => ({ ...raw, inputSchema: { ...(raw.inputSchema as object), x: 1 } }),
    ],
    ["outputSchema", (raw: Record<string, unknown>) => ({ ...raw, outputSchema: undefined })],
    ["annotations", (raw: Record<string, unknown>) => ({ ...raw, annotations: { destructiveHint: true } })],
  ])("a change of a tool's %s changes its digest and the snapshot's id", (_field, change) => {
    fc.assert(
      fc.property(rawTool, (raw) => {
        const before = snapshotOf([listing("s", [raw])]);
        const after = snapshotOf([listing("s", [change(raw)])]);
        expect(after.id).not.toBe(before.id);
        expect(after.tools[0]?.digest).not.toBe(before.tools[0]?.digest);
      }),
      RUNS,
    );
  });

  it("a change of what the digest does not cover changes neither", () => {
    fc.assert(
      fc.property(rawTool, fc.jsonValue(), (raw, meta) => {
        const before = snapshotOf([listing("s", [raw])]);
        expect(snapshotOf([listing("s", [{ ...raw, _meta: meta, execution: { taskSupport: "optional" } }])])).toEqual(
          before,
        );
      }),
      RUNS,
    );
  });
});

describe("canonical JSON put together from its members", () => {
  it("is that of the whole object, so digests made from parts are the same", () => {
    const plain = fc.jsonValue().filter((value) => notHashable(value) === undefined);
    fc.assert(
      fc.property(fc.dictionary(fc.string(), plain), (object) => {
        fc.pre(!Object.hasOwn(object, "toJSON")); // the library writes such an object in the order of its keys
        fc.pre(notHashable(object) === undefined);
        const members = Object.entries(object).map(([key, value]) => [key, canonicalJson(value)]);
        const text = canonicalObject(Object.fromEntries(members));
        expect(text).toBe(canonicalJson(object));
        expect(sha256(text)).toBe(digest(object));
      }),
      { numRuns: 1_000 },
    );
  });

  it("gives each entry the digest that a stored snapshot is checked by", () => {
    fc.assert(
      fc.property(catalog, (listings) => {
        const snapshot = snapshotOf(listings);
        expect(loadSnapshot(JSON.parse(JSON.stringify(snapshot)))).toEqual(snapshot);
      }),
      RUNS,
    );
  });
});

describe("for whatever a server lists", () => {
  const json = fc.jsonValue({ maxDepth: 5 });
  /** Tools that are nearly right: the right keys over arbitrary JSON, which gets further than JSON at random. */
  const nearly = fc.record(
    {
      name: fc.oneof(name, json),
      title: json,
      description: fc.oneof(text, json),
      inputSchema: fc.oneof(
        json,
        fc.record(
          {
            type: fc.constant("object"),
            $schema: json,
            properties: json,
            required: json,
            $ref: fc.oneof(text, json),
            $defs: json,
            anyOf: json,
            items: json,
            pattern: fc.oneof(text, json),
            $id: json,
          },
          { requiredKeys: ["type"] },
        ),
      ),
      outputSchema: json,
      annotations: json,
    },
    { requiredKeys: [] },
  );

  it("assembling never throws and, under `withhold`, keeps the healthy sibling (assemble-2)", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(json, nearly), { maxLength: 8 }), (tools) => {
        const snapshot = snapshotOf([listing("odd", [...tools, tool("healthy one")]), listing("other", [tool("t")])]);
        expect(aliases(snapshot)).toEqual(expect.arrayContaining(["mcp__odd__healthy_one", "mcp__other__t"]));
      }),
      { numRuns: 400 },
    );
  });

  it("under `refuse` the answer is a whole snapshot without anything withheld, or a problem (G2)", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(json, nearly), { maxLength: 4 }), (tools) => {
        const result = assemble([listing("odd", tools)], [], options({ onInvalid: "refuse" }));
        const whole = result.ok
          ? result.snapshot.tools.length === tools.length && result.snapshot.withheld.length === 0
          : false;
        expect(whole || (!result.ok && result.problem.length <= 300)).toBe(true);
      }),
      { numRuns: 400 },
    );
  });
});
