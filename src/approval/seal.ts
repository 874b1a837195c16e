// Seal: shows that a stored verdict is one that this host wrote.
//
// It is pure. Comparing two seals takes the same time whatever differs.
//
//   seal-1. The MAC covers every field except itself, as canonical JSON: no field can be changed, added or removed.

import { createHmac, timingSafeEqual } from "node:crypto";
import { canonicalize } from "json-canonicalize";
import type { Verdict } from "../contracts/index.js";

/** Adds the MAC of a verdict: HMAC-SHA256, in hex. */
export function seal(verdict: Omit<Verdict, "mac">, secret: string): Verdict {
  return { ...verdict, mac: macOf(verdict, secret).toString("hex") };
}

/** Whether the verdict was sealed with this secret and is unchanged. */
export function sealed(verdict: Verdict, secret: string): boolean {
  const { mac, ...fields } = verdict;
  if (!/^[0-9a-f]{64}$/.test(mac)) return false;
  return timingSafeEqual(Buffer.from(mac, "hex"), macOf(fields, secret));
}

function macOf(fields: Omit<Verdict, "mac">, secret: string): Buffer {
  return createHmac("sha256", secret).update(canonicalize(fields)).digest(); // seal-1
}
