// Every callback that the sources register with an emitter, a timer or a transport is contained: an error in one would end the
// process of whoever hosts toolgate.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, test } from "vitest";

const src = fileURLToPath(new URL("../../src", import.meta.url));
const files = readdirSync(src, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts"))
  .filter((path) => !path.startsWith("cli/")); // its callbacks come from the person at the terminal, and from signals

/** Calls that hand a function to somebody who calls it later, outside of every `try` of ours. */
const REGISTERS = new Set([
  "on",
  "once",
  "addListener",
  "addEventListener",
  "setTimeout",
  "setInterval",
  "setImmediate",
]);
const SETS = new Set(["onmessage", "onclose", "onerror"]);

/** The places of a text where a callback is registered that may throw. */
function open(path: string, text: string): string[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true);
  const found: string[] = [];
  const given = new Map<string, ts.Expression[]>(); // what a name of this file stands for
  const executors = new Set<string>(); // `resolve` and `reject` never throw

  const collect = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer) {
      given.set(node.name.text, [...(given.get(node.name.text) ?? []), node.initializer]);
    }
    if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken)
      if (ts.isIdentifier(node.left)) given.set(node.left.text, [...(given.get(node.left.text) ?? []), node.right]);
    if (ts.isNewExpression(node) && node.expression.getText() === "Promise") {
      const executor = node.arguments?.[0];
      if (executor && ts.isArrowFunction(executor))
        for (const { name } of executor.parameters) executors.add(name.getText());
    }
    ts.forEachChild(node, collect);
  };
  collect(source);

  const nameOf = (call: ts.CallExpression): string =>
    ts.isPropertyAccessExpression(call.expression) ? call.expression.name.text : call.expression.getText();
  const isContained = (handler: ts.Expression | undefined): boolean => {
    if (handler === undefined) return true;
    if (ts.isCallExpression(handler)) return nameOf(handler) === "contain";
    if (ts.isIdentifier(handler)) {
      const values = given.get(handler.text) ?? [];
      return executors.has(handler.text) || (values.length > 0 && values.every(isContained));
    }
    if (!ts.isArrowFunction(handler)) return false;
    const { body } = handler;
    if (ts.isBlock(body)) return body.statements.length === 0;
    if (ts.isCallExpression(body))
      return executors.has(nameOf(body)) || (isRegistration(body) && isContained(last(body)));
    return body.getText() === "undefined";
  };
  const isRegistration = (node: ts.Node): node is ts.CallExpression =>
    ts.isCallExpression(node) &&
    REGISTERS.has(nameOf(node)) &&
    (/^set/u.test(nameOf(node)) || (node.arguments[0] !== undefined && ts.isStringLiteral(node.arguments[0])));
  const last = (call: ts.CallExpression): ts.Expression | undefined =>
    call.arguments[/^set/u.test(nameOf(call)) ? 0 : 1];

  const visit = (node: ts.Node): void => {
    const place = () => `${path}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`;
    if (isRegistration(node) && node.arguments.length > 0 && !isContained(last(node))) found.push(place());
    if (
      ts.isBinaryExpression(node) &&
      node.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
      ts.isPropertyAccessExpression(node.left) &&
      SETS.has(node.left.name.text) &&
      !isContained(node.right)
    )
      found.push(place());
    ts.forEachChild(node, visit);
  };
  visit(source);
  return [...new Set(found)];
}

describe("callbacks (contain-1)", () => {
  test("none that may throw is registered outside of `contain`", () => {
    expect(files.length).toBeGreaterThan(150);
    expect(files.flatMap((path) => open(path, readFileSync(join(src, path), "utf8")))).toEqual([]);
  });

  test.each([
    ['child.on("exit", (code) => tell(code));'],
    ['child.once("exit", tell);'],
    ["setTimeout(() => { tell(); }, 5);"],
    ["const late = () => tell(); setTimeout(late, 5);"],
    ["let stop = contain(tell); stop = () => tell(); setInterval(stop, 5);"],
    ["setImmediate(() => setImmediate(tell));"],
    ["transport.onmessage = (message) => tell(message);"],
    ['signal.addEventListener("abort", function () { tell(); });'],
  ])("the search finds %s", (text) => {
    expect(open("a.ts", text)).toEqual(["a.ts:1"]);
  });

  test.each([
    ['child.on("exit", contain((code) => tell(code)));'],
    ['stream.on("error", () => {});'],
    ["new Promise((resolve) => setTimeout(resolve, 5));"],
    ['new Promise((resolve) => signal.addEventListener("abort", () => resolve(1)));'],
    ["let stop = () => {}; stop = contain(tell); setInterval(stop, 5);"],
    ['pool.on("connect", (client) => client.on("error", () => undefined));'],
  ])("the search lets %s be", (text) => {
    expect(open("a.ts", text)).toEqual([]);
  });
});
