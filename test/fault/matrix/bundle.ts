// Bundles the host process and its server, so that the many that are started each start fast. A mutant is the same with
// texts of the sources replaced.

import { copyFileSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import type { Mutant } from "./mutants.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));

export interface Bundle {
  readonly host: string;
  readonly server: string;
  remove(): void;
}

/** Inside node_modules: packages resolve from there, and nothing of it is committed. */
export async function bundle(mutant?: Mutant): Promise<Bundle> {
  const folder = join(root, `node_modules/.cache/toolgate-faults-${process.pid}-${mutant?.name ?? "as-it-is"}`);
  mkdirSync(folder, { recursive: true });
  const common = {
    outdir: folder,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    logLevel: "error",
    banner: {
      js: 'import { createRequire as _require } from "node:module"; const require = _require(import.meta.url);',
    },
  } as const;
  const replaced = new Set<string>();
  await build({
    ...common,
    entryPoints: { host: join(root, "test/fault/matrix/child.ts") },
    external: ["better-sqlite3", "pg-native"],
    plugins: mutant ? [replacing(mutant, replaced)] : [],
  });
  const missed = mutant?.changes.filter((change) => !replaced.has(change.file)) ?? [];
  if (missed.length > 0) throw new Error(`${mutant?.name}: ${missed[0]?.file} is not part of the host`);
  await build({ ...common, entryPoints: { server: join(root, "test/servers/programs/faults.ts") } });
  copyFileSync(join(root, "src/adapters/schema/worker.mjs"), join(folder, "worker.mjs"));
  return {
    host: join(folder, "host.js"),
    server: join(folder, "server.js"),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Replaces exact texts, each of which must stand exactly once in its file. */
function replacing(mutant: Mutant, replaced: Set<string>): Plugin {
  return {
    name: mutant.name,
    setup(plugin) {
      plugin.onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
        const changes = mutant.changes.filter((change) => path === join(root, change.file));
        if (changes.length === 0) return undefined;
        let contents = readFileSync(path, "utf8");
        for (const { file, find, put } of changes) {
          const count = contents.split(find).length - 1;
          if (count !== 1) throw new Error(`${mutant.name}: the text to replace stands ${count} times in ${file}`);
          contents = contents.replace(find, () => put);
          replaced.add(file);
        }
        return { contents, loader: "ts" };
      });
    },
  };
}
