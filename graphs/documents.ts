// The research-and-report agent for LangGraph Studio and `langgraphjs dev`: toolgate.documents.json beside package.json, or
// the file that TOOLGATE_DOCUMENTS_CONFIG names. It reads sources, and proposes reports that only a person can let through.
//
//   D1. Loading and drawing it starts no server and asks for nothing to be set.
//   D2. The grants' key is DOCUMENTS_SECRET or, when that is unset, one kept in the store's folder; never the key of the
//       seals: the server has the grants' key, and must not be able to seal an answer.

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
  // The configuration says where its store is, and cannot be read without a key: it is read twice. (D2)
  const { store } = (await readConfig(path, { ...process.env, DOCUMENTS_SECRET: "-".repeat(32) })).config;
  const DOCUMENTS_SECRET =
    store.kind === "sqlite" ? keptSecret(join(store.path, "grants")) : randomBytes(32).toString("base64url");
  return (await readConfig(path, { ...process.env, DOCUMENTS_SECRET })).config;
}
