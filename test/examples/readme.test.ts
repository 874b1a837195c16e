// The README stays true: every command in it exists and runs, every snippet works, every figure has its command.

import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseStrictJson } from "../../src/adapters/config/strict-json.js";
import { commandFile, serverFile, sourceFile } from "../support/compile.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const readme = readFileSync(join(root, "README.md"), "utf8");
const scripts = (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: Record<string, string> })
  .scripts;
const run = promisify(execFile);
let folder = "";

const blocks = (language: string) =>
  [...readme.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "gu"))].map((match) => match[1] as string);

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "toolgate-readme-"));
  for (const name of ["examples", "servers", "node_modules"]) symlinkSync(join(root, name), join(folder, name));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the command from the project's root on a store of its own. */
async function toolgate(...args: string[]): Promise<{ code: number; json: Record<string, unknown> }> {
  const config = JSON.parse(readFileSync(join(root, "toolgate.json"), "utf8"));
  const path = join(folder, "toolgate.json");
  const servers = Object.entries(config.mcpServers as Record<string, object>).map(([name, server]) => [
    name,
    { ...server, command: process.execPath, args: [serverFile(name)] },
  ]);
  writeFileSync(path, JSON.stringify({ ...config, mcpServers: Object.fromEntries(servers) }));
  try {
    const { stdout } = await run(process.execPath, [commandFile(), ...args, "--config", path, "--json"], {
      cwd: root,
    });
    return { code: 0, json: JSON.parse(stdout) };
  } catch (error) {
    const { code, stdout } = error as { code: number; stdout: string };
    return { code, json: JSON.parse(stdout) };
  }
}

describe("README", () => {
  test("begins with one sentence, one picture and exactly two commands", () => {
    expect(readme.split("\n")[2]).toMatch(/^toolgate is a LangGraph\.js agent .*\.$/u);
    expect(blocks("mermaid")).toHaveLength(1);
    expect(blocks("sh")[0]).toBe("npm install && npm run demo\nnpm install && npm test\n");
    expect(readme.indexOf("```mermaid")).toBeLessThan(readme.indexOf("```sh"));
  });

  test("every npm script it names exists", () => {
    const named = [...readme.matchAll(/npm run ([a-z:-]+)/gu)].map((match) => match[1] as string);
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
    expect(scripts["test"]).toBe("vitest run --project daily");
  });

  test("every file it links to or names in a command exists", () => {
    const linked = [...readme.matchAll(/\]\(([^)#]+)\)/gu)]
      .map((match) => match[1] as string)
      .filter((path) => !path.startsWith("http"));
    const named = [...readme.matchAll(/`((?:graphs|servers|examples|test)\/[\w./-]+)`/gu)].map(
      (match) => match[1] as string,
    );
    expect([...linked, ...named].filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  test("its terminal commands run: run, approvals, approve, tools, check, threads, unknowns", {
    timeout: 60_000,
  }, async () => {
    const question = await toolgate("run", "What does main.py need, and can it go to staging?", "--thread", "T");
    expect([question.code, question.json["status"]]).toEqual([3, "awaiting_approval"]);
    const { json } = await toolgate("approvals");
    const [open] = json["approvals"] as { approvalId: string }[];
    const done = await toolgate("approve", open?.approvalId as string);
    expect([done.code, done.json["status"]]).toEqual([0, "done"]);
    for (const command of ["tools", "check", "threads", "unknowns"])
      expect([command, (await toolgate(command)).code]).toEqual([command, 0]);
  });

  test("its commands are those of the program, and the program has no others", async () => {
    const { stdout } = await run(process.execPath, [commandFile(), "--help"]);
    const offered = [...stdout.matchAll(/^ {2}([a-z]+)(?: |$)/gmu)]
      .map((match) => match[1] as string)
      .filter((name) => name !== "help");
    for (const name of offered) expect([name, readme.includes(name)]).toEqual([name, true]);
    expect(offered.sort()).toEqual([
      "accept",
      "approvals",
      "approve",
      "check",
      "edit",
      "forget",
      "pin",
      "reject",
      "resolve",
      "run",
      "threads",
      "tools",
      "unknowns",
    ]);
  });

  test("its configurations are ones that load", async () => {
    const texts = blocks("jsonc");
    expect(texts).toHaveLength(2);
    for (const text of texts) {
      expect(parseStrictJson(text, { comments: true }).ok).toBe(true);
      const path = join(folder, "readme.json");
      writeFileSync(path, text);
      const env = { ...process.env, DOCUMENTS_SECRET: "a-secret-for-tests-that-is-long-enough" };
      const check = [commandFile(), "check", "--config", path, "--json"];
      const { stdout } = await run(process.execPath, check, { env });
      expect(
        (JSON.parse(stdout) as { problems: { level: string }[] }).problems.filter(({ level }) => level === "error"),
      ).toEqual([]);
    }
  });

  test("its commands for the document workspace run as they stand", { timeout: 60_000 }, async () => {
    const text = blocks("sh").find((block) => block.includes("DOCUMENTS_SECRET")) as string;
    const place = join(folder, "documents");
    cpSync(join(root, "examples/documents/sources"), join(place, "sources"), { recursive: true });
    const config = JSON.parse(readFileSync(join(root, "toolgate.documents.json"), "utf8"));
    config.model = `scripted:${join(root, "examples/documents/script.json")}`;
    config.store.path = join(folder, "documents-store");
    config.mcpServers.documents.args = [serverFile("documents/server")];
    config.mcpServers.documents.command = process.execPath;
    const path = join(folder, "documents.json");
    writeFileSync(path, JSON.stringify(config));
    const script = text
      .replace("npx toolgate", `"${process.execPath}" "${commandFile()}"`)
      .replace("--config toolgate.documents.json", `--config "${path}" --json`);
    const shown = await run("sh", ["-c", script], { cwd: root, env: { ...process.env, DOCUMENTS_ROOT: place } }).catch(
      (error: { code: number; stdout: string }) => error,
    );
    expect(shown).toMatchObject({ code: 3 });
    expect(JSON.parse(shown.stdout)).toMatchObject({
      status: "awaiting_approval",
      approvals: [{ tool: "save_report", arguments: { filename: "old-mill-bridge.md" } }],
    });
    expect(existsSync(join(place, "reports", "old-mill-bridge.md"))).toBe(false);
  });

  test("its code is code that runs", async () => {
    const code = (blocks("ts")[0] as string)
      .replaceAll('"toolgate"', JSON.stringify(sourceFile("index")))
      .replace('"toolgate.json"', JSON.stringify(join(folder, "toolgate.json")));
    const path = join(folder, "snippet.mjs");
    writeFileSync(path, code);
    const { stdout } = await run(process.execPath, [path], { cwd: root });
    expect(stdout).toContain("mcp__deploy__trigger { environment: 'staging' }");
  });

  test("it ends with the exit codes the program has", () => {
    expect(readme).toContain(
      "0 done · 1 error · 2 wrong command line · 3 waits for an approval · 4 the outcome of a write is unknown",
    );
  });
});
