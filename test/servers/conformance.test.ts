import { createServers } from "../../src/adapters/mcp/pool.js";
import { serversConformance } from "../conformance/servers.js";

serversConformance((configs, { lateAnswerMs }) =>
  createServers(configs, { now: Date.now, redact: (text) => text, lateAnswerMs }),
);
