import { openLog, readLog } from "../../servers/log.js";
import { type Entry, inProcessServers } from "../support/in-process.js";
import { serversConformance } from "./servers.js";

const log = ({ env: { SERVER_LOG = "" } }: Entry) => ({ write: openLog(SERVER_LOG), read: () => readLog(SERVER_LOG) });

// Configurations over stdio name the server and say what it does; no process is started for them.
serversConformance(
  (configs, { lateAnswerMs }) =>
    inProcessServers(configs as Readonly<Record<string, Entry & (typeof configs)[string]>>, { log, lateAnswerMs }),
  ["stdio 2025-11-25", "stdio 2026-07-28"],
);
