// The documents server with faults, for tests: the env of server.ts, and DOCUMENTS_FAULT and DOCUMENTS_HOLD as in faults.ts.

import { serveDocuments } from "../../../../servers/documents/serve.js";
import { faultyIo } from "./faults.js";

serveDocuments(process.env, faultyIo);
