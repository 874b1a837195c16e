// The research-and-report agent for LangGraph Studio and `langgraphjs dev`: toolgate.documents.json beside package.json, or
// the file that TOOLGATE_DOCUMENTS_CONFIG names. It reads sources, and proposes reports that only a person can approve.
//
// Loading and drawing the graph starts no server and needs no variable to be set. The key of the grants is DOCUMENTS_SECRET
// or, when that is unset, one kept in the store's folder. It is never the key of the seals: the server has the key of the
// grants, and must not be able to seal an answer.

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readConfig } from "../src/adapters/config/load.js";
import { keptSecret, withKeptSecret } from "../src/cli/secret.js";
import { createToolgate } from "../src/index.js";

const path =
  process.env.TOOLGATE_DOCUMENTS_CONFIG ?? fileURLToPath(new URL("../toolgate.documents.json", import.meta.url));

export const toolgate = await createToolgate({ config: withKeptSecret(await configured()) });
export const graph = toolgate.graph;

async function configured() {
  if (process.env.DOCUMENTS_SECRET) return (await readConfig(path, process.env)).config;
  // The configuration names the folder of its store and cannot be read without a key, so it is read twice: first with a
  // placeholder, then with the key from that folder.
  const { store } = (await readConfig(path, { ...process.env, DOCUMENTS_SECRET: "-".repeat(32) })).config;
  const DOCUMENTS_SECRET =
    store.kind === "sqlite" ? keptSecret(join(store.path, "grants")) : randomBytes(32).toString("base64url");
  return (await readConfig(path, { ...process.env, DOCUMENTS_SECRET })).config;
}
