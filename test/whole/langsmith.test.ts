// What LangSmith gets of a run: a stand-in for it listens on this machine, and a host is traced with its own variables.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const CANARY = "canary-of-langsmith-7f21";

// A run was traced. The provider's error and a tool's output went to LangSmith with the key in them.
test("traced runs have questions, answers and errors, and no secret of the configuration (callbacks-1) (G11)", {
  timeout: 120_000,
}, async () => {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      bodies.push(`${request.method} ${request.url}\n${Buffer.concat(chunks).toString("utf8")}`);
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const child = spawn(
    process.execPath,
    ["--import", "tsx", fileURLToPath(new URL("langsmith-child.ts", import.meta.url))],
    {
      env: {
        PATH: process.env["PATH"],
        CANARY,
        LANGSMITH_TRACING: "true",
        LANGSMITH_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        LANGSMITH_API_KEY: "a-key-of-the-tracer",
        LANGSMITH_DISABLE_RUN_COMPRESSION: "true",
      },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let printed = "";
  child.stdout.on("data", (chunk: Buffer) => (printed += chunk));
  child.stderr.on("data", (chunk: Buffer) => (printed += chunk));
  const [code] = (await once(child, "close")) as [number];
  server.close();
  server.closeAllConnections();
  expect([code, printed]).toEqual([0, "Error: the provider refuses key [redacted]\n"]);
  const sent = bodies.join("\n");
  expect(sent).toContain("visible question");
  expect(sent).toContain("visible answer");
  expect(sent).toContain("the provider refuses key [redacted]");
  expect(sent).toContain("the key is [redacted]");
  expect(sent).toContain("no login with [redacted]");
  expect(sent.split("\n").filter((line) => line.includes(CANARY))).toEqual([]);
});
