// Chance: the random values that a host makes.

import { randomBytes } from "node:crypto";
import type { Config } from "../contracts/index.js";
import type { SealSecrets } from "../ledger/seals.js";

/** A fresh random id of 128 bits. */
export const newId = (): string => randomBytes(16).toString("hex");

/** The secrets of the ledger's seals: none where the store, or the secret, ends with the process. */
export function sealsOf({ approvals, store }: Config): SealSecrets | undefined {
  if (approvals.secret === undefined || store.kind === "memory") return undefined;
  return { secret: approvals.secret, previous: approvals.previousSecrets };
}

/** The key of the verdicts' seals: the configured one, or one that dies with this process. */
export function secretOf(config: Config): string {
  return config.approvals.secret ?? randomBytes(32).toString("base64url");
}
