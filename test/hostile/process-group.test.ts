// Starting a server's process and ending its group when the system refuses to.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { isGoneWithin } from "../../src/adapters/mcp/group.js";
import { StdioTransport } from "../../src/adapters/mcp/stdio.js";
import { StdioServer } from "../../src/contracts/index.js";
import { sourceFile } from "../support/compile.js";

const hooks = { limitBytes: () => 1_000_000, onOversize: () => {}, maySend: () => true };
const folder = mkdtempSync(join(tmpdir(), "toolgate-group-"));
afterEach(() => {
  vi.restoreAllMocks();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("starting", () => {
  test("two starts of one transport start one process (stdio-5)", async () => {
    const code = 'require("node:fs").appendFileSync("started", "+"); process.stdin.resume()';
    const args = ["-e", code];
    const config = StdioServer.parse({ type: "stdio", command: process.execPath, args, cwd: folder });
    const transport = new StdioTransport(config, hooks);
    const both = await Promise.allSettled([transport.start(), transport.start()]);
    expect(both.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    await vi.waitFor(() => expect(readFileSync(join(folder, "started"), "utf8")).toBe("+"));
    await transport.close();
  });

  test("without a file descriptor left the start is a problem, and nothing is thrown later (stdio-6)", async () => {
    const adapter = pathToFileURL(sourceFile("adapters/mcp/stdio")).href;
    const code = `
      import { openSync, closeSync } from "node:fs";
      import { StdioTransport } from ${JSON.stringify(adapter)};
      process.on("uncaughtException", (error) => { console.log("thrown later: " + error.message); });
      const config = { type: "stdio", command: process.execPath, args: ["-e", ""], cwd: process.cwd(), env: {} };
      const transport = new StdioTransport(config, { limitBytes: () => 1000, onOversize: () => {} });
      const held = [];
      try { for (;;) held.push(openSync(process.execPath, "r")); } catch {}
      const told = await transport.start().then(() => "started", (error) => error.name + ": " + error.message);
      await transport.close();
      await new Promise((resolve) => setTimeout(resolve, 50));
      for (const descriptor of held) closeSync(descriptor);
      console.log(told);`;
    const script = `ulimit -n 100 && exec "$0" --input-type=module -e "$1"`;
    const cwd = fileURLToPath(new URL("../..", import.meta.url));
    const host = spawn("sh", ["-c", script, process.execPath, code], { cwd, stdio: ["ignore", "pipe", "inherit"] });
    let said = "";
    host.stdout.on("data", (chunk) => {
      said += chunk;
    });
    await once(host, "close");
    expect(said).toBe(
      `ServerProblem: the command \`${process.execPath}\` could not be started: spawn ${process.execPath} EMFILE\n`,
    );
  });
});

describe("ending", () => {
  const failing = (code: string) =>
    vi.spyOn(process, "kill").mockImplementation(() => {
      throw Object.assign(new Error(`kill ${code}`), { code });
    });

  test("a group that this process may not signal is not gone (group-3)", async () => {
    failing("EPERM");
    expect(await isGoneWithin(12_345, 40)).toBe(false);
  });

  test("a group that the system does not know is gone (group-3)", async () => {
    failing("ESRCH");
    expect(await isGoneWithin(12_345, 40)).toBe(true);
  });

  test.each([
    ["linux", -12_345],
    ["win32", 12_345],
  ] as const)("on %s the signal goes to %i: Windows has no groups", async (platform, target) => {
    const kill = failing("ESRCH");
    const real = Object.getOwnPropertyDescriptor(process, "platform") as PropertyDescriptor;
    Object.defineProperty(process, "platform", { ...real, value: platform });
    try {
      await isGoneWithin(12_345, 0);
    } finally {
      Object.defineProperty(process, "platform", real);
    }
    expect(kill.mock.calls).toEqual([[target, 0]]);
  });
});
