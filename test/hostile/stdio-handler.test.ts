// What happens when the reader of a stdio server's messages cannot take one of them, and when the server reads none.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { StdioTransport } from "../../src/adapters/mcp/stdio.js";
import { World } from "../support/mcp.js";

let world: World;
beforeEach(() => {
  world = new World();
});
let transport: StdioTransport | undefined;
afterEach(async () => {
  await transport?.close();
  await world.end();
});

// One line with an answer nested 20,000 levels deep to a request that nobody had made ended the host: the SDK wrote it out
// for its error text, and that error was thrown in the handler of a socket.
test("a message that the reader cannot take is dropped and told, and the next one arrives (stdio-7)", async () => {
  const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
  const lines = [`{"jsonrpc":"2.0","id":999,"result":{"x":${deep}}}`, '{"jsonrpc":"2.0","id":1,"result":{}}'];
  const code = `process.stdout.write(${JSON.stringify(lines.map((line) => `${line}\n`).join(""))}); process.stdin.resume();`;
  transport = new StdioTransport(world.script(code), {
    limitBytes: () => 1_000_000,
    onOversize: () => {},
    maySend: () => true,
  });
  const told: unknown[] = [];
  transport.onerror = (error) => told.push(error);
  const next = new Promise<unknown>((resolve) => {
    (transport as StdioTransport).onmessage = (message) => {
      JSON.stringify(message); // as the SDK does with an answer to nobody
      resolve(message);
    };
  });
  await transport.start();
  expect(await next).toMatchObject({ id: 1 });
  expect(told).toHaveLength(1);
});

// What is handed to a full pipe waits in this process: a call that was sent long after its time limit still went out.
test("what waited behind a message that the server does not read is asked for again when its turn comes (stdio-8)", async () => {
  const code = `process.on("SIGUSR2", () => process.stdin.resume());
    setInterval(() => {}, 1_000);
    let text = "";
    process.stdin.on("data", (part) => { text += part; });
    process.stdin.pause();
    process.stdin.on("end", () => {
      const ids = text.trim().split("\\n").map((line) => JSON.parse(line).id);
      require("node:fs").writeFileSync("read.json", JSON.stringify(ids));
      process.exit();
    });
    console.log(JSON.stringify({ jsonrpc: "2.0", method: "ready" }));`;
  let may = true;
  transport = new StdioTransport(world.script(code), {
    limitBytes: () => 1_000_000,
    onOversize: () => {},
    maySend: () => may,
  });
  const ready = new Promise((resolve) => {
    (transport as StdioTransport).onmessage = resolve;
  });
  await transport.start();
  await ready;
  const message = (id: number, params: Record<string, unknown> = {}) => ({
    jsonrpc: "2.0" as const,
    id,
    method: "m",
    params,
  });
  const first = transport.send(message(1, { text: "x".repeat(1_000_000) })); // more than a pipe holds
  const second = transport.send(message(2)).catch((error: Error) => error.message);
  may = false; // while it waits, its time is over
  process.kill(transport.pid as number, "SIGUSR2");
  await first;
  expect(await second).toBe("not permitted at the moment of sending");
  may = true;
  await transport.send(message(3));
  await transport.close();
  expect(JSON.parse(readFileSync(join(world.folder, "read.json"), "utf8"))).toEqual([1, 3]);
});
