// Chance: the random values that a host makes.

import { randomBytes } from "node:crypto";
import type { Config } from "../contracts/index.js";

/** A fresh random id of 128 bits. */
export const newId = (): string => randomBytes(16).toString("hex");

/** The key of the seals: the configured one, or one that dies with this process. */
export function secretOf(config: Config): string {
  return config.approvals.secret ?? randomBytes(32).toString("base64url");
}
