// The docs service of `servers/docs.ts` over stdio, with something wrong with it. Its variables apply, and
//
//   DOCS_MODE      default `ok`:
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

import { serveStdio } from "../../../servers/sdk.js";
import { oddDocsServer } from "./odd-docs-server.js";

await serveStdio(oddDocsServer(process.env));
