// A script of this checkout (`npm run schema`). It writes toolgate.schema.json from the schema in file.ts. With --check it
// writes nothing, and exits with 1 when the committed file says something else.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { configJsonSchema } from "./file.js";

const target = fileURLToPath(new URL("../../../toolgate.schema.json", import.meta.url));
const text = `${JSON.stringify(configJsonSchema(), null, 2)}\n`;

if (process.argv.includes("--check")) {
  if (committed() !== JSON.stringify(JSON.parse(text))) {
    console.error("toolgate.schema.json is stale: run `npm run schema`");
    process.exitCode = 1;
  }
} else {
  writeFileSync(target, text);
  execFileSync("npx", ["biome", "format", "--write", target], { stdio: "ignore" });
}

/** The committed file without its layout, which the formatter decides. */
function committed(): string | undefined {
  try {
    return JSON.stringify(JSON.parse(readFileSync(target, "utf8")));
  } catch {
    return undefined;
  }
}
