// The docs service of scenario S1 over stdio: one tool, `search.docs`, one required string, one fixed answer.
//
// Env:
//   SERVER_LOG     the effect log (log.ts); searching changes nothing, so there are no `effect` lines
//   DOCS_MODE      what is wrong today, default `ok`:
//     ok               answers
//     business-error   isError: the service is down for maintenance
//     slow             answers after DOCS_DELAY_MS and logs `finished` then
//     bad-schema       lists a number property, which `schema: "strings-only"` refuses
//     empty            lists no tool
//     two-pages        a second page with the tool `list.topics`
//     bad-second-page  the same, but the second page's tool has an empty name
//     repeated-cursor  every page names the same next cursor
//     many-pages       DOCS_PAGES pages of one tool each
//     duplicate        the second page lists `search.docs` again
//     nine-tools       nine tools on one page
//     colliding        `search_docs` beside `search.docs`
//     image | structured | empty-result | blank | long   an odd result; `long` has 2,001 characters
//   DOCS_DELAY_MS  milliseconds, default 1000
//   DOCS_PAGES     default 5
//   DOCS_NAME      the name and title it gives of itself, default `docs`
//
// It ends when stdin ends, after the searches that are running.

import { docsServer } from "./docs-server.js";
import { serveStdio } from "./sdk.js";

await serveStdio(docsServer(process.env));
