// Environment: reads the server's environment variables once. server.ts describes them.

import { BOUNDS } from "./contracts.js";
import type { GrantTerms } from "./grant.js";

export interface Environment {
  readonly root: string;
  readonly terms: GrantTerms;
  readonly logPath: string | undefined;
}

/** Throws one sentence that names the variable; never the secret. */
export function readEnvironment(env: Readonly<Record<string, string | undefined>>): Environment {
  const root = env.DOCUMENTS_ROOT ?? "";
  if (root === "") throw new Error("DOCUMENTS_ROOT is not set, expected the folder that holds `sources`");
  const secret = env.DOCUMENTS_SECRET ?? "";
  const { length } = [...secret];
  if (length < BOUNDS.secretChars)
    throw new Error(`DOCUMENTS_SECRET has ${length} characters, expected at least ${BOUNDS.secretChars}`);
  return {
    root,
    terms: {
      key: new TextEncoder().encode(secret),
      audience: env.DOCUMENTS_NAME ?? "documents",
      scope: env.DOCUMENTS_SCOPE ?? "local",
    },
    logPath: env.SERVER_LOG,
  };
}
