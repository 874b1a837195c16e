// The deploy service of `servers/deploy.ts` over stdio, with something wrong with it. Its variables apply, and
//
//   DEPLOY_MODE      default `ok`:
//     ok        deploys and says so
//     refuses   isError, nothing is deployed
//     slow      deploys at once, answers after DEPLOY_DELAY_MS (default 1000)
//     dies      deploys, then the process is gone without an answer

import { serveStdio } from "../../../servers/sdk.js";
import { oddDeployServer } from "./odd-deploy-server.js";

await serveStdio(oddDeployServer(process.env));
