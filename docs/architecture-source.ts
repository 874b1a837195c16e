// What the text of src says by itself: which file imports which at runtime, cycles of such imports, functions over 60
// lines, and lines in all. A top-level folder of src is a room; so is each folder of adapters.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

export const root = fileURLToPath(new URL("..", import.meta.url));
const src = join(root, "src");

export interface SourceFile {
  /** Relative to src. */
  readonly path: string;
  readonly text: string;
}

export function sourceFiles(): SourceFile[] {
  return readdirSync(src, { recursive: true, encoding: "utf8" })
    .filter((path) => /\.(?:ts|mjs)$/.test(path))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(src, path), "utf8") }));
}

/** A file that stands in no folder is a room of its own. */
export function roomOf(path: string): string {
  const [first = "", second] = path.split("/");
  return first === "adapters" && second !== undefined ? `${first}/${second}` : first;
}

/** Files of src that a file loads when it is loaded. Imports of types alone are gone by then and are left out. */
export function runtimeImports({ path, text }: SourceFile): string[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ES2022);
  const loaded = source.statements.flatMap((statement) => {
    if (ts.isImportDeclaration(statement)) return isOfTypes(statement.importClause) ? [] : [statement.moduleSpecifier];
    if (!ts.isExportDeclaration(statement) || statement.isTypeOnly || !statement.moduleSpecifier) return [];
    const { exportClause } = statement;
    const types =
      exportClause !== undefined &&
      ts.isNamedExports(exportClause) &&
      exportClause.elements.every((one) => one.isTypeOnly);
    return types ? [] : [statement.moduleSpecifier];
  });
  return loaded
    .map((specifier) => (specifier as ts.StringLiteral).text)
    .filter((specifier) => specifier.startsWith("."))
    .map((specifier) => relative(src, join(src, dirname(path), specifier)).replace(/\.js$/, ".ts"));
}

function isOfTypes(clause: ts.ImportClause | undefined): boolean {
  if (clause === undefined) return false; // an import for its effects
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  const named = clause.namedBindings;
  if (clause.name !== undefined || named === undefined || !ts.isNamedImports(named)) return false;
  return named.elements.every((one) => one.isTypeOnly);
}

export type Graph = ReadonlyMap<string, readonly string[]>;

export function importGraph(files: readonly SourceFile[]): Graph {
  return new Map(files.map((file) => [file.path, runtimeImports(file)]));
}

/** Groups of files that reach one another by runtime imports. */
export function cycles(graph: Graph): string[][] {
  const reach = new Map([...graph.keys()].map((path) => [path, reachable(graph, path)]));
  const seen = new Set<string>();
  const found: string[][] = [];
  for (const path of graph.keys()) {
    if (seen.has(path) || !reach.get(path)?.has(path)) continue;
    const group = [...graph.keys()].filter((other) => reach.get(path)?.has(other) && reach.get(other)?.has(path));
    for (const one of group) seen.add(one);
    found.push(group);
  }
  return found;
}

function reachable(graph: Graph, from: string): Set<string> {
  const seen = new Set<string>();
  const open = [...(graph.get(from) ?? [])];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    open.push(...(graph.get(path) ?? []));
  }
  return seen;
}

export interface LongFunction {
  readonly file: string;
  readonly name: string;
  readonly lines: number;
}

/** Functions, methods and arrow functions over so many lines, the longest first. What stands inside of one counts too. */
export function longFunctions(files: readonly SourceFile[], most: number): LongFunction[] {
  const found: LongFunction[] = [];
  for (const { path, text } of files) {
    const source = ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true);
    const visit = (node: ts.Node): void => {
      if (isFunction(node)) {
        const line = (at: number) => source.getLineAndCharacterOfPosition(at).line;
        const lines = line(node.end) - line(node.getStart()) + 1;
        if (lines > most) found.push({ file: path, name: functionName(node), lines });
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return found.sort((a, b) => b.lines - a.lines);
}

export type FunctionWithBody = ts.FunctionLikeDeclaration & { readonly body: ts.ConciseBody };

export function isFunction(node: ts.Node): node is FunctionWithBody {
  return ts.isFunctionLike(node) && "body" in node && node.body !== undefined;
}

export function functionName(node: FunctionWithBody): string {
  if (node.name) return node.name.getText();
  const { parent } = node;
  if (ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent)) return parent.name.getText();
  return ts.isConstructorDeclaration(node) ? "constructor" : "a function without a name";
}

/** The rooms and who imports whom at runtime, as a Mermaid drawing. */
export function drawRooms(graph: Graph): string {
  const rooms = [...new Set([...graph.keys()].map(roomOf))].sort();
  const arrows = new Set<string>();
  for (const [path, imports] of graph) {
    for (const target of imports) {
      if (roomOf(path) !== roomOf(target)) arrows.add(`  ${nodeId(roomOf(path))} --> ${nodeId(roomOf(target))}`);
    }
  }
  const nodes = rooms.map((room) => `  ${nodeId(room)}["${room}"]`);
  return ["flowchart TD", ...nodes, ...[...arrows].sort()].join("\n");
}

/** A name that Mermaid takes: none of its own words, such as `graph`, and no sign but letters and `_`. */
export function nodeId(name: string): string {
  return `n_${name.replace(/[^A-Za-z0-9]/g, "_")}`;
}
