// Writes docs/architecture.md from the sources and from one real call, and prints what is not in it: import cycles, long
// functions and lines.
//
//   npm run architecture              writes the file
//   npm run architecture -- --check   fails where the file is not what would be written

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { drawRoad, findRoad, type Road } from "./architecture-road.js";
import { cycles, drawRooms, type Graph, importGraph, longFunctions, sourceFiles } from "./architecture-source.js";

const FILE = fileURLToPath(new URL("architecture.md", import.meta.url));
const MOST_LINES = 60;
const MOST_FILES = 12;
const MOST_CHANGES = 8;

const files = sourceFiles();
const graph = importGraph(files);
const road = await findRoad();
const text = page(graph, road);

const lines = files.reduce((sum, file) => sum + file.text.split("\n").length - 1, 0);
const long = longFunctions(files, MOST_LINES);
const rings = cycles(graph);
console.log(`lines of src: ${lines} in ${files.length} files`);
console.log(`runtime import cycles: ${rings.length}`);
for (const ring of rings) console.log(`  ${ring.join(", ")}`);
console.log(`functions over ${MOST_LINES} lines: ${long.length}`);
for (const { file, name, lines: count } of long) console.log(`  ${count} ${name} (${file})`);
console.log(`the road of a call: ${road.files.length} files, ${road.roomChanges.length} room changes`);
console.log(`files of which any function ran meanwhile: ${road.ran.length}`);

if (!process.argv.includes("--check")) writeFileSync(FILE, text);
else if (readFileSync(FILE, "utf8") !== text) {
  console.error("docs/architecture.md is not what the sources say; write it with `npm run architecture`");
  process.exitCode = 1;
}

function page(imports: Graph, { effects, files: passed, roomChanges, ...rest }: Road): string {
  return `# Architecture

\`npm run architecture\` writes this file; a test fails when it is out of date.

## Rooms

A top-level folder of \`src\` is a room, and so is each folder of \`src/adapters\`. An arrow says that a file of one room imports a file of the other at runtime. Imports of types alone are left out.

\`\`\`mermaid
${drawRooms(imports)}
\`\`\`

## The road of one call

One approved write is run, and until the first byte of its \`tools/call\` is written, every effect is recorded: a transaction or a statement of the store, a message to the schema worker, bytes to a server. The road is what stands on the stack at one of these moments, from the node \`execute\` down. A function that decides or formats something and returns before the next effect is not on the road, however often it runs.

- A **file** counts once, however many of its functions are on the road.
- A **room change** is a pair of files of different rooms, the first of which calls the second on the road.

| | now | at most |
| --- | --- | --- |
| files | ${passed.length} | ${MOST_FILES} |
| room changes | ${roomChanges.length} | ${MOST_CHANGES} |

\`\`\`mermaid
${drawRoad({ effects, files: passed, roomChanges, ...rest })}
\`\`\`

The effects, in order:

${effects.map(({ what, files: on }, n) => `${n + 1}. ${what}: ${on.map((file) => `\`${file}\``).join(" → ")}`).join("\n")}
`;
}
