// Grant: the host's signed statement to a server that this one call, with these arguments, may run. It is made when the call
// is sent and is never stored. Servers verify it by docs/grants.md, without any code of toolgate.
//
// It is a compact JWS (RFC 7515) with HS256. Its claims have the names of RFC 7519 where that defines them.
//
//   grant-1. A grant is for one operation: its id, exact arguments, tool and tool definition, server, thread, scope, approver
//            and expiry.
//   grant-2. Every grant begins with the same characters, so that it can be removed from any text that contains it.

import type { Digest } from "../contracts/index.js";

const HEADER = { alg: "HS256", typ: "toolgate-grant+jwt" } as const;

/** What every grant begins with: its header, encoded. (grant-2) */
export const GRANT_START = Buffer.from(JSON.stringify(HEADER)).toString("base64url");

/** A longer grant is not sent. Only a long name of a thread, a scope or a person makes a grant that long. */
const GRANT_CHARS = 2_048;

/** What a grant says. Each field names the claim that it becomes. (grant-1) */
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
