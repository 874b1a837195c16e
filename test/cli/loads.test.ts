// What a command loads before it does anything: the graph, the MCP client and the drivers take most of a second to load.

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { sourceFile } from "../support/compile.js";
import { Workspace } from "./support.js";

const folder = mkdtempSync(join(tmpdir(), "toolgate-loads-"));
const trace = join(folder, "trace");
const hooks = join(folder, "hooks.mjs");
const register = join(folder, "register.mjs");
writeFileSync(
  hooks,
  `import { appendFileSync } from "node:fs";
   export async function load(url, context, next) {
     appendFileSync(${JSON.stringify(trace)}, url + "\\n");
     return next(url, context);
   }`,
);
writeFileSync(
  register,
  `import { register } from "node:module"; register(${JSON.stringify(pathToFileURL(hooks).href)});`,
);
writeFileSync(join(folder, "toolgate.json"), '{ "model": "openai:x", "mcpServers": {} }');
afterAll(() => rmSync(folder, { recursive: true }));

/** The packages that `toolgate ...words` loads. */
async function packagesOf(...words: string[]): Promise<string[]> {
  writeFileSync(trace, "");
  const argv = ["--import", register, sourceFile("cli/main"), ...words];
  await promisify(execFile)(process.execPath, argv, { cwd: folder }).catch(() => undefined); // a wrong command ends with 2
  const urls = readFileSync(trace, "utf8").split("\n");
  const names = urls.map((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!toolgate-test)/.exec(url)?.[1]);
  return [...new Set(names.filter((name) => name !== undefined && name !== ".cache"))].sort() as string[];
}

test("the version and a wrong command load the reader of the command line and nothing else (cli-4)", async () => {
  expect(await packagesOf("--version")).toEqual(["commander"]);
  expect(await packagesOf("nonsense")).toEqual(["commander"]);
});

test("`check` loads no graph, no MCP client, no model and no driver", async () => {
  expect(await packagesOf("check")).toEqual(["commander", "json-canonicalize", "zod"]);
});

const RECORDS = ["better-sqlite3", "commander", "json-canonicalize", "zod"];

test.each(["threads", "approvals", "unknowns"])(
  "`%s` loads the driver of SQLite, and no graph, no MCP client, no LangChain, no other driver and no signing",
  async (command) => {
    expect(await packagesOf(command)).toEqual(RECORDS);
  },
);

test("where a question is open, the checkpoints are loaded too, and no graph, no MCP client and no other driver", {
  timeout: 120_000,
}, async () => {
  const place = new Workspace();
  try {
    place.configure([{ calls: [{ name: "mcp__deploy__trigger", args: { environment: "staging" } }] }], {
      mcpServers: { deploy: place.server("deploy") },
    });
    expect((await place.run("run", "deploy it")).code).toBe(3);
    const config = ["--config", join(place.folder, "toolgate.json")];
    for (const command of ["threads", "approvals"]) {
      const found = await packagesOf(command, ...config);
      const heavy = ["@langchain/langgraph", "@modelcontextprotocol/client", "pg", "jose"];
      expect(found.filter((name) => heavy.includes(name))).toEqual([]);
      expect(found).toContain("@langchain/langgraph-checkpoint-sqlite");
    }
    expect(await packagesOf("unknowns", ...config)).toEqual(RECORDS);
  } finally {
    await place.end();
  }
});
