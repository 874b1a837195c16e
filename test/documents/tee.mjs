// Between a host and a server over stdio, for tests that have to know a grant: it keeps every line the host sent, and fills
// the last grant into what the server says, on stdout and stderr, where that has `{{grant}}` (or, as Base64 of something
// longer, `{{grant64}}`; without its header, `{{headless}}`; of its signature, `{{signature}}`).
//
//   node tee.mjs KEPT SERVER_FILE

import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [kept, file] = process.argv.slice(2);
const server = spawn(process.execPath, [file], { stdio: "pipe" });
server.once("exit", (code) => process.exit(code ?? 1));
server.stdin.on("error", () => {}); // it is gone; the exit says so

let grant = "";
const filled = (line) =>
  line
    .replaceAll("{{grant}}", grant)
    .replaceAll("{{grant64}}", Buffer.from(`sent ${grant} by you`).toString("base64"))
    .replaceAll("{{headless}}", grant.split(".").slice(1).join("."))
    .replaceAll("{{signature}}", grant.split(".").at(-1));

createInterface({ input: process.stdin })
  .on("line", (line) => {
    appendFileSync(kept, `${line}\n`);
    grant = JSON.parse(line).params?.arguments?.approval_token ?? grant;
    server.stdin.write(`${line}\n`);
  })
  .on("close", () => server.stdin.end());
createInterface({ input: server.stdout }).on("line", (line) => process.stdout.write(`${filled(line)}\n`));
createInterface({ input: server.stderr }).on("line", (line) => process.stderr.write(`${filled(line)}\n`));
