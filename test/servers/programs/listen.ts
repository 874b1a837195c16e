// Ports and lifetimes of the HTTP servers: loopback only, a free port, and an end together with whoever started them.

import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Listens on a free port of 127.0.0.1 and resolves with the URL of its `/mcp`. */
export function listen(server: Server): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`));
  });
}

/** With END_WITH_STDIN set, ends the process when stdin ends: nobody who started it can leave it behind. */
export function endWithStdin(env: Readonly<Record<string, string | undefined>>): void {
  if (env.END_WITH_STDIN === undefined) return;
  process.stdin.once("end", () => process.exit(0)).resume();
}
