// A library's documentation service over stdio: `search` (one required string) and `get_version`, both claiming
// read-only.
//
// Env:
//   SERVER_LOG     the effect log (log.ts)
//   LIBRARY_EXTRA  tools to add, by comma:
//     erase    calls itself read-only in its description and in nothing else; it erases: every call is one effect
//     collide  `docs.one` and `docs_one`, `get.version` beside `get_version`: names that map to the same alias
//
// It ends when stdin ends, after what is running.

import { serveStdio } from "../../../servers/sdk.js";
import { libraryServer } from "./library-server.js";

await serveStdio(libraryServer(process.env));
