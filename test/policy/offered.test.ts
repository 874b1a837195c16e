// Which tools of a server are offered, by its `show` and `hide`.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hiddenBy, idleEntries, type OfferTerms } from "../../src/policy/index.js";

const offered = (terms: OfferTerms, ...tools: string[]) =>
  tools.filter((tool) => hiddenBy(terms, "docs", tool) === undefined);

describe("show and hide", () => {
  test("without them every tool is offered (offered-1)", () => {
    expect(offered({}, "get", "drop_all")).toEqual(["get", "drop_all"]);
  });

  test("an empty `show` offers nothing, `*` everything (offered-1)", () => {
    expect(offered({ show: [] }, "get", "drop_all")).toEqual([]);
    expect(offered({ show: ["*"] }, "get", "drop_all")).toEqual(["get", "drop_all"]);
  });

  test("only what `show` matches, and nothing that `hide` matches (offered-1)", () => {
    const terms = { show: ["get_*", "list"], hide: ["*_secret"] };
    expect(offered(terms, "get_page", "get_secret", "list", "lists", "put")).toEqual(["get_page", "list"]);
  });

  test("the reason says which key it was", () => {
    expect(hiddenBy({ hide: ["x", "drop_*"] }, "docs", "drop_all")).toBe("hidden: `hide` of its server names `drop_*`");
    expect(hiddenBy({ show: ["x"] }, "docs", "drop_all")).toBe("hidden: `show` of its server does not name it");
  });

  // A tool was hidden by the name that people see, and the server called it something else.
  test("`hide` covers a tool by any of its names (offered-2)", () => {
    for (const text of [
      "drop.all",
      "drop_all",
      "mcp__docs__drop_all",
      "mcp__docs__drop.all",
      "mcp__docs__drop*",
      "drop_*",
    ])
      expect(offered({ hide: [text] }, "drop.all"), text).toEqual([]);
  });

  test("`hide` covers a tool by an alias that was cut (offered-2)", () => {
    const long = "x".repeat(80);
    expect(offered({ hide: [`mcp__docs__${"x".repeat(44)}_8c789e78`] }, long)).toEqual([]);
    expect(offered({ hide: [`mcp__docs__${"x".repeat(44)}_8c789e79`] }, long)).toEqual([long]);
  });

  test("a glob of `show` lets in only what it covers in both forms of its name (offered-2)", () => {
    expect(offered({ show: ["get_*"] }, "get_page", "get.page")).toEqual(["get_page"]);
    expect(offered({ show: ["get*"] }, "get_page", "get.page")).toEqual(["get_page", "get.page"]);
    expect(offered({ show: ["get_page"] }, "get.page")).toEqual(["get.page"]); // a whole name is either of them
  });

  test("a name of another server, of another case, or a part of a name, is no match", () => {
    expect(offered({ hide: ["mcp__other__drop", "DROP", "dro", "rop"] }, "drop")).toEqual(["drop"]);
    expect(offered({ show: ["mcp__other__drop", "DROP", "dro"] }, "drop")).toEqual([]);
  });

  test("a star is the only character with a meaning", () => {
    expect(offered({ show: ["a.c", "[ab]", "a?"] }, "abc", "a", "ab", "a.c")).toEqual(["a.c"]);
  });

  test("whatever the lists: what is offered is hidden by no entry, and more entries to hide offer less", () => {
    const name = fc.stringMatching(/^[a-c._]{1,5}$/);
    const list = fc.array(fc.stringMatching(/^[a-c._*]{1,4}$/), { maxLength: 4 });
    fc.assert(
      fc.property(name, list, list, list, (tool, show, hide, more) => {
        const is = (terms: OfferTerms) => hiddenBy(terms, "docs", tool) === undefined;
        if (is({ show, hide: [...hide, ...more] })) expect(is({ show, hide })).toBe(true);
        if (is({ show, hide })) expect(is({ show })).toBe(true);
        if (is({ show })) expect(is({ show: [...show, ...more] })).toBe(true);
        expect(is({ show, hide: [tool] })).toBe(false);
      }),
    );
  });
});

test("entries that match no tool of the list", () => {
  const terms = { show: ["get_*", "lost"], hide: ["delte_*", "drop"] };
  expect(idleEntries(terms, "docs", ["get_page", "delete_page", "drop"])).toEqual([
    { key: "show", text: "lost" },
    { key: "hide", text: "delte_*" },
  ]);
});
