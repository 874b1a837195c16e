// Compiles servers and sources once before the tests, so that the many processes they start do not each pay for it.
// What runs is the same code; only the compiler's work is done once.

import { copyFileSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** Inside node_modules: packages resolve from there and nothing of it is committed. One folder a run: runs may overlap. */
const compiled = (): string =>
  (process.env.TOOLGATE_TEST_COMPILED ??= join(root, `node_modules/.cache/toolgate-test-${process.pid}`));

/** The compiled file of `servers/<name>.ts` or of `test/servers/programs/<name>.ts`. */
export function serverFile(name: string): string {
  return join(compiled(), "servers", `${name}.js`);
}

/** The compiled file of `src/<path>.ts`. */
export function sourceFile(path: string): string {
  return join(compiled(), "src", `${path}.js`);
}

const sources = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => join(root, folder, path));

/** The command in few files, as a package may be bundled: it starts in half the time of its many. */
export function commandFile(): string {
  return join(compiled(), "bin/cli/main.js");
}

/** Runs once per test run, whichever of the projects that need it comes first. */
export async function setup(): Promise<void> {
  if (process.env.TOOLGATE_TEST_COMPILED !== undefined) return;
  mkdirSync(compiled(), { recursive: true });
  const common = { format: "esm", platform: "node", target: "node20", logLevel: "error" } as const;
  const bundled = {
    bundle: true,
    splitting: true,
    banner: {
      js: 'import { createRequire as _require } from "node:module"; const require = _require(import.meta.url);',
    },
  };
  await build({
    ...common,
    entryPoints: Object.fromEntries(
      ["servers", "test/servers/programs"].flatMap((folder) =>
        sources(folder).map((path) => [relative(join(root, folder), path).replace(/\.ts$/u, ""), path]),
      ),
    ),
    outdir: join(compiled(), "servers"),
    ...bundled,
  });
  await build({ ...common, entryPoints: sources("src"), outdir: join(compiled(), "src") });
  await build({
    ...common,
    ...bundled,
    entryPoints: [join(root, "src/cli/main.ts")],
    outdir: join(compiled(), "bin/cli"),
    external: ["better-sqlite3", "pg", "pg-native"],
  });
  copyFileSync(join(root, "package.json"), join(compiled(), "package.json"));
  const worker = "adapters/schema/worker.mjs";
  mkdirSync(join(compiled(), "src", dirname(worker)), { recursive: true });
  copyFileSync(join(root, "src", worker), join(compiled(), "src", worker));
  copyFileSync(join(root, "src", worker), join(compiled(), "bin/cli/worker.mjs"));
}

export function teardown(): void {
  rmSync(compiled(), { recursive: true, force: true });
}
