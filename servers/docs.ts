// A documentation service over stdio, on `@modelcontextprotocol/sdk`: one tool, `search.docs`, with one required string and
// one fixed answer.
//
// Env: SERVER_LOG names the effect log (log.ts). Searching changes nothing, so there are no `effect` lines.
//
// It ends when stdin ends, after the searches that are running.

import { docsServer } from "./docs-server.js";
import { serveStdio } from "./sdk.js";

await serveStdio(docsServer(process.env));
