import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeFolder } from "../../src/adapters/sqlite/folder.js";

test("missing parents are made for their user alone, and what is there stays", () => {
  const base = mkdtempSync(join(tmpdir(), "toolgate-folder-"));
  makeFolder(join(base, "a/b/c"));
  makeFolder(join(base, "a/b/c"));
  expect(["a", "a/b", "a/b/c"].map((path) => statSync(join(base, path)).mode & 0o777)).toEqual([0o700, 0o700, 0o700]);
  rmSync(base, { recursive: true });
});

test.runIf(process.platform === "linux")("a parent that takes no entries is said at once, not tried for ever", () => {
  expect(() => makeFolder("/proc/nope/store")).toThrow(/ENOENT|EACCES|EPERM/);
});
