// Whether LangGraph's server says who calls it. Where people are who it says they are (`approvals.identity`), a
// `langgraph.json` without `auth` lets every client write a name of its own.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Config, type Finding, isObject } from "../../contracts/index.js";

/** An error for a `langgraph.json` of these folders that sets up no `auth`. A folder without that file says nothing. */
export function authFindings({ approvals }: Config, folders: readonly string[]): readonly Finding[] {
  if (approvals.identity !== "langgraph-auth") return [];
  return [...new Set(folders)].map((folder) => join(folder, "langgraph.json")).flatMap(authFinding);
}

function authFinding(path: string): Finding[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return [];
  }
  if (hasAuth(text)) return [];
  const message = `\`approvals.identity\` believes LangGraph's server, and \`${path}\` sets up no \`auth\`: any client could say who it is`;
  return [{ level: "error", code: "auth_missing", message }];
}

/** LangGraph's own word for it: `auth.path` names the module that authenticates. */
function hasAuth(text: string): boolean {
  try {
    const auth: unknown = (JSON.parse(text) as { auth?: unknown }).auth;
    return isObject(auth) && typeof auth["path"] === "string" && auth["path"] !== "";
  } catch {
    return false;
  }
}
