// Copies what tsc leaves behind: the plain .mjs schema worker.
import { copyFileSync, existsSync, mkdirSync } from "node:fs";

const worker = "adapters/schema/worker.mjs";
if (existsSync(`src/${worker}`)) {
  mkdirSync("dist/adapters/schema", { recursive: true });
  copyFileSync(`src/${worker}`, `dist/${worker}`);
}
