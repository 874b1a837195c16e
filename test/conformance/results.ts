// What every result store adapter must do: results-1, results-2 and, where it can be edited, results-3.

import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ResultStore } from "../../src/observation/results.js";

/** Puts this in the place of every stored body, as another hand would. */
export type EditBodies = (coding: string, body: Buffer) => unknown;

export function resultsSuite(name: string, make: () => ResultStore | Promise<ResultStore>, edit?: EditBodies): void {
  describe(name, () => {
    it("gives back what was put, by its reference, with its size and digest", async () => {
      const results = await make();
      const reference = await results.put("t1", "für alle");
      expect(reference).toMatchObject({
        bytes: 9,
        sha256: "bdfe74c379b290af37ffa23bcb2e749c9a57c0868615634d8b5344f78285659b",
      });
      expect(await results.read("t1", reference.ref)).toBe("für alle");
    });

    it("serves the thread a reference was made for and no other (results-2)", async () => {
      const results = await make();
      const mine = await results.put("t1", "secret of t1");
      expect(await results.read("t2", mine.ref)).toBeUndefined();
      const theirs = await results.put("t2", "secret of t1");
      expect(theirs.ref).not.toBe(mine.ref);
      expect(await results.read("t2", theirs.ref)).toBe("secret of t1");
      expect(await results.read("t2", mine.ref)).toBeUndefined();
    });

    it("forgets what a thread had, and what another has, too, stays", async () => {
      const results = await make();
      const [own, shared, other] = [
        await results.put("t1", "its own"),
        await results.put("t1", "the same"),
        await results.put("t2", "the same"),
      ];
      await results.forget("t1");
      await results.forget("t1");
      await results.forget("nobody");
      expect([await results.read("t1", own.ref), await results.read("t1", shared.ref)]).toEqual([undefined, undefined]);
      expect(await results.read("t2", other.ref)).toBe("the same");
      const again = await results.put("t1", "its own");
      expect(await results.read("t1", again.ref)).toBe("its own");
    });

    it.skipIf(edit === undefined).each([
      ["another text", "utf8", Buffer.from("transferred: 9")],
      ["nothing", "utf8", Buffer.alloc(0)],
      ["another text, compressed", "gzip", gzipSync("transferred: 9")],
      ["what does not decompress", "gzip", Buffer.from("transferred: 1")],
    ])("does not show a body that was replaced by %s (results-3)", async (_, coding, body) => {
      const results = await make();
      const { ref } = await results.put("t1", "transferred: 1");
      await edit?.(coding, body);
      await expect(results.read("t1", ref)).rejects.toMatchObject({
        code: "store_failed",
        message: `the stored result ${ref} is not what toolgate recorded: its body was changed in the store`,
      });
      expect(await results.read("t2", ref)).toBeUndefined();
    });

    it("gives the same reference each time for the same body", async () => {
      const results = await make();
      const first = await results.put("t1", "body");
      expect(await results.put("t1", "body")).toEqual(first);
      expect((await results.put("t1", "another")).ref).not.toBe(first.ref);
    });

    it.each(["", "no such thing", "../t1", "0".repeat(32), "' OR 1=1 --", "\0"])(
      "knows no reference %j",
      async (ref) => {
        const results = await make();
        await results.put("t1", "body");
        expect(await results.read("t1", ref)).toBeUndefined();
      },
    );

    it("keeps any text whole: NUL, empty, large, compressible or not (results-1)", async () => {
      const results = await make();
      const text = fc.string({ unit: "grapheme", maxLength: 200 });
      const large = fc.tuple(text, fc.integer({ min: 1, max: 3_000 })).map(([part, times]) => part.repeat(times));
      await fc.assert(
        fc.asyncProperty(fc.oneof(text, large, fc.constant(""), fc.constant("a\0b")), async (body) => {
          const { ref } = await results.put("t1", body);
          expect(await results.read("t1", ref)).toBe(body);
        }),
        { numRuns: 60 },
      );
    });
  });
}
