// Says whether a failed HTTP request can have reached the server.
//
// Facts of our own network stack decide (a system call that failed, a handshake that was refused), never the error's text.

export interface NetworkFailure {
  /** The first code found, such as `ECONNREFUSED`. */
  readonly code: string | undefined;
  /** No request can have reached the server. */
  readonly refused: boolean;
}

interface Facts {
  readonly code?: unknown;
  readonly syscall?: unknown;
  readonly cause?: unknown;
  readonly errors?: unknown;
}

const UNREACHED: ReadonlySet<string> = new Set(["UND_ERR_CONNECT_TIMEOUT", "ERR_SSL_WRONG_VERSION_NUMBER"]);
/** The peer's certificate was not accepted: the request is sent only after that. */
const CERTIFICATE: ReadonlySet<string> = new Set([
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "CERT_REVOKED",
  "CERT_UNTRUSTED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "HOSTNAME_MISMATCH",
  "INVALID_CA",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

export function networkFailure(error: unknown): NetworkFailure {
  const leaves = flatten(error);
  const codes = leaves.map(({ code }) => code).filter((code): code is string => typeof code === "string");
  return { code: codes[0], refused: leaves.length > 0 && leaves.every(unreached) };
}

function unreached({ code, syscall }: Facts): boolean {
  // A failed `connect` or name look-up comes before every byte, whatever its errno.
  if (syscall === "connect" || syscall === "getaddrinfo") return true;
  return typeof code === "string" && (UNREACHED.has(code) || CERTIFICATE.has(code));
}

/** The errors at the ends of the chain: `fetch` wraps its cause, and one host name may have several addresses. */
function flatten(error: unknown, depth = 0): readonly Facts[] {
  if (typeof error !== "object" || error === null || depth > 8) return [];
  const facts = error as Facts;
  if (Array.isArray(facts.errors) && facts.errors.length > 0)
    return facts.errors.flatMap((inner) => flatten(inner, depth + 1));
  if (typeof facts.cause === "object" && facts.cause !== null) return flatten(facts.cause, depth + 1);
  return [facts];
}
