// A copy of src in which every function says that it was called. It stands in node_modules/.cache, where packages are
// found and nothing is committed.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { transform } from "esbuild";
import ts from "typescript";
import { functionName, isFunction, root, sourceFiles } from "./architecture-source.js";

/** One function of src. */
export interface Traced {
  readonly file: string;
  readonly name: string;
}

export interface Instrumented {
  /** The copy of src/index.ts. */
  readonly index: string;
  readonly functions: readonly Traced[];
  remove(): void;
}

/** The global function that the copy calls with the number of a function and its body. */
export const RECORDER = "__toolgateRecorder";

export async function instrument(): Promise<Instrumented> {
  const folder = join(root, "node_modules/.cache", `toolgate-architecture-${process.pid}`);
  const functions: Traced[] = [];
  for (const { path, text } of sourceFiles()) {
    const to = join(folder, "src", path.replace(/\.ts$/, ".js"));
    mkdirSync(dirname(to), { recursive: true });
    if (path.endsWith(".mjs"))
      writeFileSync(to, text); // a thread of its own, in which nothing is recorded
    else {
      const { code } = await transform(text, { loader: "ts", format: "esm", target: "node20" });
      writeFileSync(to, withRecorder(code, path, functions));
    }
  }
  writeFileSync(join(folder, "package.json"), readFileSync(join(root, "package.json")));
  return {
    index: join(folder, "src/index.js"),
    functions,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** `{ body }` becomes `{ return recorder(number, () => { body }); }`; a generator's body only says that it began. */
function withRecorder(code: string, file: string, functions: Traced[]): string {
  const source = ts.createSourceFile(file, code, ts.ScriptTarget.ES2022, true, ts.ScriptKind.JS);
  const opened: Edit[] = [];
  const closed: Edit[] = [];
  const visit = (node: ts.Node): void => {
    if (isFunction(node)) {
      const { body } = node;
      const number = functions.push({ file, name: functionName(node) }) - 1;
      const wait = ts.getCombinedModifierFlags(node) & ts.ModifierFlags.Async ? "async " : "";
      const call = `globalThis.${RECORDER}(${number}, ${wait}() => `;
      if (!ts.isBlock(body)) {
        opened.push({ at: body.getStart(), text: `${call}(` });
        closed.unshift({ at: body.end, text: "))" }); // an inner function ends before the one around it
      } else if (node.asteriskToken !== undefined) {
        opened.push({ at: body.getStart() + 1, text: `globalThis.${RECORDER}(${number}, () => {});` });
      } else {
        const back = ts.isConstructorDeclaration(node) ? "" : "return ";
        opened.push({ at: body.getStart() + 1, text: `${back}${call}{` });
        closed.unshift({ at: body.end - 1, text: "});" });
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  let result = "";
  let from = 0;
  for (const { at, text } of [...closed, ...opened].sort((a, b) => a.at - b.at)) {
    result += code.slice(from, at) + text;
    from = at;
  }
  return result + code.slice(from);
}

interface Edit {
  readonly at: number;
  readonly text: string;
}
