import { describe, expect, it } from "vitest";
import { listServer, type Page } from "../../src/listings/pages.js";
import { LIMITS } from "../catalog/helpers.js";

/** A server whose pages are given by cursor ("first" for none); it keeps what it was asked. */
function server(answer: (cursor: string | undefined, request: number) => Page) {
  const asked: (string | undefined)[] = [];
  const source = async (cursor: string | undefined) => {
    asked.push(cursor);
    return answer(cursor, asked.length);
  };
  return { asked, source };
}

const page = (tools: unknown[], nextCursor?: unknown): Page => ({ ok: true, tools, nextCursor, bytes: 100 });

describe("listing a server", () => {
  it("walks the pages in order to the end", async () => {
    const { asked, source } = server((cursor) => (cursor === undefined ? page(["a"], "2") : page(["b", "c"])));
    expect(await listServer(source, LIMITS)).toEqual({ ok: true, tools: ["a", "b", "c"], pages: 2 });
    expect(asked).toEqual([undefined, "2"]);
  });

  it("takes an empty list for a complete one", async () => {
    expect(await listServer(async () => page([]), LIMITS)).toEqual({ ok: true, tools: [], pages: 1 });
  });

  it("asks with an empty cursor once, as with any other (pages-2)", async () => {
    const { asked, source } = server((cursor) => (cursor === undefined ? page(["a"], "") : page(["b"])));
    expect(await listServer(source, LIMITS)).toEqual({ ok: true, tools: ["a", "b"], pages: 2 });
    expect(asked).toEqual([undefined, ""]);
  });

  // A client asked 170,000 times with an empty cursor until its memory was used up.
  it("an endless empty cursor fails after two requests (pages-1)", async () => {
    const { asked, source } = server(() => page(["a"], ""));
    expect(await listServer(source, LIMITS)).toEqual({
      ok: false,
      problem: "page 2 has a cursor that was used before: the list would never end",
    });
    expect(asked).toEqual([undefined, ""]);
  });

  // A cursor that did not advance turned 8 tools into about 160.
  it("the same page again and again is a failure, never a list that looks complete (pages-1)", async () => {
    const { asked, source } = server(() => page([1, 2, 3, 4, 5, 6, 7, 8], "p1"));
    expect((await listServer(source, LIMITS)).ok).toBe(false);
    expect(asked).toEqual([undefined, "p1"]);
  });

  it("a circle of cursors is seen when it closes, however long it is (pages-1)", async () => {
    const { asked, source } = server((_cursor, request) => page([], `c${request % 3}`));
    expect((await listServer(source, LIMITS)).ok).toBe(false);
    expect(asked).toEqual([undefined, "c1", "c2", "c0"]);
  });

  // Some servers send null at the end of a list; a cursor of another type than text is malformed.
  it("null ends the list (pages-2)", async () => {
    expect(await listServer(async () => page(["a"], null), LIMITS)).toEqual({ ok: true, tools: ["a"], pages: 1 });
  });

  it.each([[0], [{}], [false], [["p"]]])("a cursor of the wrong type (%j) is a problem", async (cursor) => {
    expect(await listServer(async () => page([], cursor), LIMITS)).toEqual({
      ok: false,
      problem: "page 1 has a cursor that is no string",
    });
  });

  it("a cursor over the bound is refused and never sent back", async () => {
    const { asked, source } = server(() => page([], "x".repeat(1_000_000)));
    expect(await listServer(source, LIMITS)).toEqual({
      ok: false,
      problem: "page 1 has a cursor of more than 4096 characters",
    });
    expect(asked).toEqual([undefined]);
  });

  // A discovery that failed on a later page left a partial catalog that looked complete.
  it("an error on a later page leaves nothing of the first (G2, pages-1)", async () => {
    const { source } = server((cursor) =>
      cursor === undefined ? page([1, 2, 3, 4, 5], "2") : { ok: false, problem: "error -32603" },
    );
    expect(await listServer(source, LIMITS)).toEqual({ ok: false, problem: "page 2 failed: error -32603" });
  });

  // After a reconnect a server refused the cursor of the old session.
  it("a cursor that a new session does not know fails the listing; the next one starts from the first page (pages-1)", async () => {
    const { asked, source } = server((cursor, request) => {
      if (request === 2) return { ok: false, problem: "error -32602" };
      return cursor === undefined ? page(["a"], "2") : page(["b"]);
    });
    expect((await listServer(source, LIMITS)).ok).toBe(false);
    expect(await listServer(source, LIMITS)).toEqual({ ok: true, tools: ["a", "b"], pages: 2 });
    expect(asked).toEqual([undefined, "2", undefined, "2"]);
  });

  it("a port that throws is a page that failed, told in one bounded line (pages-1)", async () => {
    const thrown = await listServer(async () => Promise.reject(new Error(`gone\n${"x".repeat(1_000)}`)), LIMITS);
    expect(thrown.ok).toBe(false);
    expect(thrown.ok ? "" : thrown.problem).toMatch(/^page 1 failed: gone x+…$/);
    expect(thrown.ok ? 0 : thrown.problem.length).toBe(300);
  });

  it("four pages are the most, when four are allowed", async () => {
    const { asked, source } = server((_cursor, request) => page([request], `c${request}`));
    expect(await listServer(source, { ...LIMITS, pages: 4 })).toEqual({
      ok: false,
      problem: "the list goes on after 4 pages",
    });
    expect(asked).toHaveLength(4);
  });

  it("nine tools are too many, when eight are allowed, and the list is not cut", async () => {
    const nine = async () => page([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(await listServer(nine, { ...LIMITS, tools: 8 })).toEqual({
      ok: false,
      problem: "the server lists more than 8 tools",
    });
  });

  it("a page over its bytes fails the listing", async () => {
    const large = async (): Promise<Page> => ({ ok: true, tools: [], bytes: 24_001 });
    expect(await listServer(large, { ...LIMITS, pageBytes: 24_000 })).toEqual({
      ok: false,
      problem: "page 1 has more than 24000 bytes",
    });
  });

  it("a page whose tools are no list is a problem", async () => {
    const odd = async () => ({ ok: true, tools: { 0: "a" }, bytes: 10 }) as unknown as Page;
    expect(await listServer(odd, LIMITS)).toEqual({ ok: false, problem: "page 1 has no list of tools" });
  });
});
