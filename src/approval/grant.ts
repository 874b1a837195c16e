// Grant: the host's signed word to a server that this one call, with these arguments, may run. Minted at the send, never
// stored. Servers verify it by docs/grants.md, with nothing of toolgate.
//
// A compact JWS (RFC 7515) with HS256; claims as RFC 7519 names them where it does.
//
//   G1. A grant is for one operation: id, exact arguments, tool and its definition, server, thread, scope, approver, expiry.
//   G2. Every grant begins with the same characters, so that it can be taken out of any text it turns up in.

import type { Digest } from "../contracts/index.js";

const HEADER = { alg: "HS256", typ: "toolgate-grant+jwt" } as const;

/** What every grant begins with: its header, encoded. (G2) */
export const GRANT_START = Buffer.from(JSON.stringify(HEADER)).toString("base64url");

/** A longer grant is not sent; what makes one long is a name: of a thread, a scope, a person. */
export const GRANT_CHARS = 2_048;

/** What a grant says (G1). The claim each becomes stands beside it. */
export interface GrantClaims {
  /** `aud`: the server's name in the host's configuration. */
  readonly server: string;
  /** `jti`. */
  readonly operationId: Digest;
  readonly scope: string;
  /** `thread`. */
  readonly threadId: string;
  /** The server's own name for the tool. */
  readonly tool: string;
  readonly toolDigest: Digest;
  /** Of the arguments without what the host fills in. */
  readonly argumentsDigest: Digest;
  /** Who said yes; null when a rule allowed the call. */
  readonly approver: string | null;
}

/**
 * Signs a grant. `now` and `ttlMs` are milliseconds; a grant lives for whole seconds, rounded up.
 * Throws when it would be longer than `GRANT_CHARS`, or when the key is too short to be one.
 */
export async function mintGrant(
  claims: GrantClaims,
  secret: string,
  { now, ttlMs }: { readonly now: number; readonly ttlMs: number },
): Promise<string> {
  const key = new TextEncoder().encode(secret);
  if (key.length < 32) throw new Error("the key of the grant has less than 32 bytes");
  const { server, operationId, scope, threadId, tool, toolDigest, argumentsDigest, approver } = claims;
  const issued = Math.floor(now / 1_000);
  const { SignJWT } = await import("jose"); // loaded here, because most processes sign nothing
  const grant = await new SignJWT({ scope, thread: threadId, tool, toolDigest, argumentsDigest, approver })
    .setProtectedHeader(HEADER)
    .setIssuer("toolgate")
    .setAudience(server)
    .setJti(operationId)
    .setIssuedAt(issued)
    .setExpirationTime(issued + Math.ceil(ttlMs / 1_000))
    .sign(key);
  if (grant.length > GRANT_CHARS) {
    throw new Error(
      `the grant has ${grant.length} characters, at most ${GRANT_CHARS} are sent; shorten the thread's id`,
    );
  }
  return grant;
}
