// The documents server with faults, for tests: the env of server.ts, and DOCUMENTS_FAULT and DOCUMENTS_HOLD as in faults.ts.

import { faultyIo } from "./faults.js";
import { serveDocuments } from "./serve.js";

serveDocuments(process.env, faultyIo);
