import { createServers } from "../../src/adapters/mcp/servers.js";
import { serversConformance } from "../conformance/servers.js";

serversConformance((configs, { lateAnswerMs }) =>
  createServers(configs, { now: Date.now, redact: (text) => text, lateAnswerMs }),
);
