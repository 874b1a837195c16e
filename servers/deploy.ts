// A deploy service over stdio, on `@modelcontextprotocol/sdk`: `trigger` (one required string `environment`, claiming
// destructive) and `status` (claiming read-only).
//
// Env:
//   SERVER_LOG       the effect log (log.ts): a trigger that went through is one `effect` line, and the only record
//                    of it; without a log the process remembers its own
//   DEPLOY_DELAY_MS  milliseconds from the deployment to its answer, default 0
//
// It ends when stdin ends, after what is running.

import { deployServer } from "./deploy-server.js";
import { serveStdio } from "./sdk.js";

await serveStdio(deployServer(process.env));
