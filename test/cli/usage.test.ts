// A command line that cannot be read starts nothing: one line, what to do, exit code 2.

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inProcess } from "./in-process.js";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "toolgate-usage-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const long = "x".repeat(256);
const mistakes: readonly [args: readonly string[], code: string, message: string, hint: string][] = [
  [[], "usage", "there is no command", "run `toolgate --help` to see them"],
  [["runn"], "usage", "unknown command 'runn'", "Did you mean run?"],
  [["quarantine"], "usage", "unknown command 'quarantine'", "run `toolgate --help` to see how it is used"],
  [["run", "--nope", "x"], "usage", "unknown option '--nope'", "run `toolgate --help` to see how it is used"],
  [
    ["run", "what", "is", "it"],
    "usage",
    "too many arguments for 'run'. Expected 1 argument but got 3.",
    "put the question into quotes",
  ],
  [
    ["run"],
    "empty_question",
    "there is no question",
    'give one: toolgate run "…"; or name the thread to go on with: --thread T',
  ],
  [
    ["run", " \n"],
    "empty_question",
    "the question is empty",
    "give one, or leave it out and name a thread to go on with",
  ],
  [
    ["run", "hello", "--thread", ""],
    "usage",
    "a thread's name has 1 to 255 characters, none of them a control character",
    "run `toolgate threads` to list them",
  ],
  [
    ["run", "hello", "--thread", long],
    "usage",
    "a thread's name has 1 to 255 characters, none of them a control character",
    "run `toolgate threads` to list them",
  ],
  [["approve"], "usage", "missing required argument 'id'", "run `toolgate --help` to see how it is used"],
  [
    ["edit", "a"],
    "usage",
    "required option '--args <json>' not specified",
    "run `toolgate --help` to see how it is used",
  ],
  [
    ["edit", "a", "--args", "{"],
    "usage",
    "--args is not taken: line 1, column 2: expected a key in double quotes, found the end of the text",
    "give one JSON object, quoted for the shell",
  ],
  [
    ["edit", "a", "--args", '{"x":1,"x":2}'],
    "usage",
    "--args is not taken: line 1, column 8: the key `x` stands twice in one object, first at line 1",
    "give one JSON object, quoted for the shell",
  ],
  [
    ["edit", "a", "--args", "[]"],
    "usage",
    '--args is not taken: arguments are a JSON object, such as {"path": "a.txt"}',
    "give one JSON object, quoted for the shell",
  ],
  [["resolve", "a"], "usage", "say what became of it, once", "give one of --happened, --did-not-happen and --leave"],
  [
    ["resolve", "a", "--happened", "--leave"],
    "usage",
    "say what became of it, once",
    "give one of --happened, --did-not-happen and --leave",
  ],
];

describe("exit code 2 (cli-1) (cli-2) (cli-3)", () => {
  test.each(mistakes)("toolgate %j", async (args, code, message, hint) => {
    const config = args.length === 0 ? [] : ["--config", join(folder, "toolgate.json")];
    expect(await inProcess([...args, ...config])).toEqual({
      code: 2,
      stdout: "",
      stderr: `toolgate: ${message}\n  ${hint}\n`,
    });
    const { code: exit, stdout } = await inProcess([...args, ...config, "--json"]);
    expect(exit).toBe(2);
    expect(stdout).toBe(`${JSON.stringify({ status: "error", error: { code, message, hint } })}\n`); // cli-1
    expect(readdirSync(folder)).toEqual([]);
  });
});

test("a huge question is an error that says the bound, not a wrong command line", async () => {
  const { code, stdout } = await inProcess(["run", "x".repeat(200_001), "--json"]);
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual({
    status: "error",
    error: {
      code: "question_too_long",
      message: "the question has 200001 characters, and 200000 are the most",
      hint: "put what it is about into a file and let a tool read that",
    },
  });
});

test("--help and --version go to stdout and end well", async () => {
  const help = await inProcess(["--help"]);
  expect(help).toMatchObject({ code: 0, stderr: "" });
  const commands = [...help.stdout.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name);
  expect(commands).toEqual([
    "run",
    "approvals",
    "approve",
    "reject",
    "edit",
    "unknowns",
    "resolve",
    "accept",
    "forget",
    "tools",
    "check",
    "pin",
    "threads",
    "help",
  ]);
  expect(await inProcess(["--version"])).toEqual({ code: 0, stdout: "0.1.0\n", stderr: "" });
});
