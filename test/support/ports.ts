// A port for a server that wants to be told one: free now, on this machine only.

import { once } from "node:events";
import { createServer } from "node:net";

/** A port that nobody listens on now. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, "close");
  return port;
}
