// A process that a hostile server starts and forgets. It is in the server's process group, so ending the group ends it.

import { spawn } from "node:child_process";
import type { ServerLog } from "../../../servers/log.js";

/** Starts it and resolves once it runs and its pid is in the log. It ends itself after `lifeMs`. */
export async function startGrandchild(
  options: { ignoresSigterm: boolean; holdsStdout: boolean },
  lifeMs: number,
  log: ServerLog,
): Promise<void> {
  const ignore = options.ignoresSigterm ? 'process.on("SIGTERM", () => {});' : "";
  const code = `${ignore} setTimeout(() => {}, ${lifeMs}); require("node:fs").writeSync(3, "up");`;
  const child = spawn(process.execPath, ["-e", code], {
    stdio: ["ignore", options.holdsStdout ? "inherit" : "ignore", "ignore", "pipe"],
  });
  await new Promise((resolve) => child.stdio[3]?.once("data", resolve));
  child.stdio[3]?.destroy();
  child.unref();
  log({ event: "grandchild", ...(child.pid === undefined ? {} : { pid: child.pid }) });
}
