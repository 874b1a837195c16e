// Grants: the host's word that one operation may be carried out, as docs/grants.md describes it. Nothing of the host's
// own code is used here: what a server must check is checked with the claim list and a JWS library.
//
//   documents-grant-1. Only HS256 under the shared secret, with exactly the header of a grant; the signature is checked
//                      first.
//   documents-grant-2. A grant is for this server (`aud`), this scope, this tool and these arguments, whatever else it
//                      says.
//   documents-grant-3. It has not expired and is at most a minute old, by this machine's clock, without tolerance.
//
// No message about a grant repeats any part of it.

import { createHash } from "node:crypto";
import { errors, type JWTPayload, jwtVerify } from "jose";
import type { Refusal } from "./answer.js";
import { BOUNDS, OPERATION_ID } from "./contracts.js";

const TYP = "toolgate-grant+jwt";
const NOT_SIGNED = "must be a grant signed with this server's secret";
const ISSUER = "toolgate";
/** The header of a grant, byte for byte: others of the same meaning (keys twice, in another order) are none. */
const HEADER = Buffer.from(JSON.stringify({ alg: "HS256", typ: TYP })).toString("base64url");
const TEXTS = ["thread", "toolDigest"];

/** What this server is, to a grant. */
export interface GrantTerms {
  /** The secret's UTF-8 bytes. */
  readonly key: Uint8Array;
  readonly audience: string;
  readonly scope: string;
}

/** What the call asks for. */
export interface Asked {
  readonly tool: string;
  readonly argumentsDigest: string;
  /** The operation id beside the grant, where there is one. */
  readonly operationId: string | undefined;
}

export type GrantVerdict =
  | { readonly ok: true; readonly operationId: string }
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * Digest of a report's arguments: SHA-256 over their RFC 8785 form. For two well-formed strings that is what
 * JSON.stringify makes of them, keys in this order.
 */
export function argumentsDigest(filename: string, content: string): string {
  return createHash("sha256").update(JSON.stringify({ content, filename })).digest("hex");
}

export async function verifyGrant(
  token: string,
  terms: GrantTerms,
  asked: Asked,
  now: () => number,
): Promise<GrantVerdict> {
  const refuse = (rule: string, field = "approval_token"): GrantVerdict => ({ ok: false, refusal: { field, rule } });
  if (!isCompact(token)) return refuse(NOT_SIGNED);
  let claims: JWTPayload;
  try {
    const verified = await jwtVerify(token, terms.key, {
      algorithms: ["HS256"], // documents-grant-1
      typ: TYP,
      issuer: ISSUER,
      audience: terms.audience, // documents-grant-2
      requiredClaims: ["exp", "iat", "jti"],
      maxTokenAge: BOUNDS.grantSeconds, // documents-grant-3
      clockTolerance: 0,
      currentDate: new Date(now()),
    });
    claims = verified.payload;
  } catch (error) {
    return refuse(ruleOf(error));
  }
  if (!token.startsWith(`${HEADER}.`)) return refuse("must have exactly the header of a grant");
  const { iat, exp, jti, aud } = claims as { iat: number; exp: number; jti?: unknown; aud?: unknown };
  if (aud !== terms.audience) return refuse("must be for this server alone"); // a list is refused too
  if (![iat, exp].every(Number.isSafeInteger) || exp - iat > BOUNDS.grantSeconds)
    return refuse(`must live at most ${BOUNDS.grantSeconds} seconds`);
  if (claims["scope"] !== terms.scope) return refuse("must be for this scope");
  if (claims["tool"] !== asked.tool) return refuse("must be for this tool");
  if (claims["argumentsDigest"] !== asked.argumentsDigest) return refuse("must be for this file name and this content");
  if (typeof jti !== "string" || !OPERATION_ID.test(jti)) return refuse("must name an operation");
  const { approver } = claims;
  if (TEXTS.some((claim) => typeof claims[claim] !== "string") || !(approver === null || typeof approver === "string"))
    return refuse("must have all claims of a grant");
  if (asked.operationId !== undefined && asked.operationId !== jti)
    return refuse("must be the operation that the grant is for", "operation_id");
  return { ok: true, operationId: jti };
}

/** Three parts, each written in the one way there is; the library would also take spaces and loose bits at an end. */
function isCompact(token: string): boolean {
  const parts = token.split(".");
  return parts.length === 3 && parts.every((part) => Buffer.from(part, "base64url").toString("base64url") === part);
}

/** The rule that jose found broken, in words of ours. */
function ruleOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return "must not have expired";
  if (error instanceof errors.JWTClaimValidationFailed) {
    switch (error.claim) {
      case "aud":
        return "must be for this server";
      case "iat":
        return "must have been issued before now";
      case "typ":
        return "must have exactly the header of a grant";
    }
    return `must have the claim \`${error.claim}\` of a grant`;
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return "must be signed with HS256";
  return NOT_SIGNED;
}
