// The deploy service of scenario S3 over stdio: `trigger` (one required string `environment`, claiming destructive) and
// `status` (claiming read-only).
//
// Env:
//   SERVER_LOG       the effect log (log.ts): a trigger that went through is one `effect` line, and the only record
//                    of it; without a log the process remembers its own
//   DEPLOY_MODE      default `ok`:
//     ok        deploys and says so
//     refuses   isError, nothing is deployed
//     slow      deploys at once, answers after DEPLOY_DELAY_MS
//     dies      deploys, then the process is gone without an answer
//   DEPLOY_DELAY_MS  milliseconds, default 1000
//
// It ends when stdin ends, after what is running.

import { deployServer } from "./deploy-server.js";
import { serveStdio } from "./sdk.js";

await serveStdio(deployServer(process.env));
