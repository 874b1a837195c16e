// What happens when the reader of a stdio server's messages cannot take one of them.

import { afterEach, expect, test } from "vitest";
import { StdioTransport } from "../../src/adapters/mcp/stdio.js";
import { World } from "../support/mcp.js";

const world = new World();
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
