// Compiles a checkout's sources and servers with the scripts of this folder, file by file and without a bundle, so that a
// process that is measured runs what a published package runs and pays for no compiler. The sources may be those of
// another checkout: only `src` and `servers` are taken from there, and packages are this checkout's.

import { copyFileSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL("..", import.meta.url));

export interface Compiled {
  /** The compiled file of a path such as `bench/floor-run.ts`. */
  file(path: string): string;
  remove(): void;
}

/** `name` is the name of the folder inside `node_modules/.cache`, where packages are found and nothing is committed. */
export async function compile(root: string, name: string): Promise<Compiled> {
  const folder = join(here, "node_modules/.cache", `toolgate-bench-${process.pid}-${name}`);
  const from: readonly (readonly [string, string])[] = [
    [root, "src"],
    [root, "servers"],
    [here, "bench"],
  ];
  for (const [base, part] of from) {
    const paths = readdirSync(join(base, part), { recursive: true, encoding: "utf8" }).map((path) =>
      join(base, part, path),
    );
    await build({
      entryPoints: paths.filter((path) => path.endsWith(".ts")),
      outbase: base,
      outdir: folder,
      format: "esm",
      platform: "node",
      target: "node20",
      logLevel: "error",
    });
    for (const path of paths.filter((one) => one.endsWith(".mjs"))) {
      const copy = join(folder, relative(base, path)); // the schema worker is plain JavaScript and is started by its path
      mkdirSync(dirname(copy), { recursive: true });
      copyFileSync(path, copy);
    }
  }
  copyFileSync(join(root, "package.json"), join(folder, "package.json"));
  return {
    file: (path) => join(folder, path.replace(/\.ts$/, ".js")),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
