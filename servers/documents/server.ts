// The document workspace over stdio: `search_documents` and `read_document` over `sources/`, `save_report`
// into `reports/` with a grant (docs/grants.md), and `get_operation`, which tells what became of a save.
//
// Speaks the protocol's revisions 2026-07-28 and 2025-11-25 (and the older ones of that kind), as the client opens.
//
// Env:
//   DOCUMENTS_ROOT    required: the folder that holds `sources`; `reports` and `.operations` are made when missing
//   DOCUMENTS_SECRET  required: at least 32 characters, shared with the host that gives grants
//   DOCUMENTS_SCOPE   default `local`: the host's scope
//   DOCUMENTS_NAME    default `documents`: this server's name in the host's configuration
//   SERVER_LOG        the effect log (../log.ts): a report's file that was made is one `effect` line
//
// It ends when stdin ends, after what is running.

import { nodeIo } from "./io.js";
import { serveDocuments } from "./serve.js";

serveDocuments(process.env, () => nodeIo);
