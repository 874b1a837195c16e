// What no test noticed until a mutant showed it. A name that is longer than 64 characters is cut and ended with a hash; had
// the hash been taken after the characters were mapped, two such tools would both have been left out as colliding.

import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { aliasOf } from "../../src/contracts/index.js";

test("two long names that differ only in a character that is mapped have aliases of their own", () => {
  const long = "x".repeat(60);
  const [dot, colon] = [aliasOf("s", `${long}.a`), aliasOf("s", `${long}:a`)];
  expect(dot).not.toBe(colon);
  const hash = createHash("sha256").update(`mcp__s__${long}.a`).digest("hex").slice(0, 8);
  expect(dot).toBe(`mcp__s__${"x".repeat(47)}_${hash}`);
});
