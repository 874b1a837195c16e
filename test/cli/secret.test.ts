// The secret of the seals, kept in the store's folder.

import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { keptSecret } from "../../src/cli/secret.js";
import { ToolgateError } from "../../src/contracts/index.js";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "toolgate-secret-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

function problemOf(work: () => unknown): { code: string; message: string } {
  try {
    work();
  } catch (error) {
    if (error instanceof ToolgateError) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error("nothing was thrown");
}

test("made once, for its owner alone, and the same from then on (kept-secret-1)", () => {
  const store = join(folder, "store");
  const secret = keptSecret(store);
  expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(keptSecret(store)).toBe(secret);
  expect(statSync(join(store, "secret")).mode & 0o777).toBe(0o600);
  expect(readdirSync(store)).toEqual(["secret"]);
});

test("processes that start side by side end up with the same one (kept-secret-2)", async () => {
  const module = new URL("../../src/cli/secret.ts", import.meta.url).href;
  const code = `import(${JSON.stringify(module)}).then((m) => console.log(m.keptSecret(process.argv[1])))`;
  const secrets = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", "-e", code, folder]);
      return stdout.trim();
    }),
  );
  expect(secrets[0]).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(new Set(secrets).size).toBe(1);
  expect(readdirSync(folder)).toEqual(["secret"]);
});

test("whoever was first has made it (kept-secret-2)", () => {
  writeFileSync(join(folder, "secret"), `${"s".repeat(43)}\n`, { mode: 0o600 });
  expect(keptSecret(folder)).toBe("s".repeat(43));
});

test("one that others may read is refused, and kept (kept-secret-3)", () => {
  const secret = keptSecret(folder);
  chmodSync(join(folder, "secret"), 0o644);
  const problem = problemOf(() => keptSecret(folder));
  expect(problem).toEqual({
    code: "store_failed",
    message: `the store's secret \`${join(folder, "secret")}\` may be read by others`,
  });
  expect(readFileSync(join(folder, "secret"), "utf8")).toBe(`${secret}\n`);
});

test("one that is too short is refused, and kept (kept-secret-3)", () => {
  writeFileSync(join(folder, "secret"), "short\n", { mode: 0o600 });
  expect(problemOf(() => keptSecret(folder)).code).toBe("store_failed");
  expect(readFileSync(join(folder, "secret"), "utf8")).toBe("short\n");
});

test("a store that is a file is told in one line", () => {
  const file = join(folder, "file");
  writeFileSync(file, "");
  const { code, message } = problemOf(() => keptSecret(file));
  expect(code).toBe("store_failed");
  expect(message).toContain(`the store's secret \`${join(file, "secret")}\` cannot be read or made`);
});
