// Challenge: whether an HTTP 401 says that the access token was refused (RFC 9110 section 11.6.1, RFC 6750 section 3).
//
// The header is read by its grammar: a word within a quoted string, such as a realm, is no challenge, and a header that
// breaks the grammar says nothing.

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const PARAMETER = `(${TOKEN})\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|(${TOKEN}))`;
/** What may stand between two commas: a parameter; or a scheme, alone, with its first parameter, or with a token68. */
const PART = new RegExp(`^(?:${PARAMETER}|(${TOKEN})(?:\\s+(?:${PARAMETER}|[A-Za-z0-9._~+/-]+=*))?)$`);

/** `true` where a Bearer challenge has `error="invalid_token"`, and no other error beside it. */
export function refusesToken(header: string | null): boolean {
  let scheme: string | undefined;
  let errors: (string | undefined)[] = [];
  let refused = false;
  const ended = () => scheme === "bearer" && errors.length === 1 && errors[0] === "invalid_token";
  for (const part of partsOf(header ?? "")) {
    const found = PART.exec(part);
    if (found === null) return false;
    const [, own, ownQuoted, ownToken, next, first, firstQuoted, firstToken] = found;
    if (next !== undefined) {
      refused ||= ended();
      scheme = next.toLowerCase();
      errors = [];
    } else if (scheme === undefined) return false;
    const name = own ?? first;
    if (name?.toLowerCase() !== "error") continue;
    errors.push((ownQuoted ?? firstQuoted)?.replace(/\\(.)/g, "$1") ?? ownToken ?? firstToken);
  }
  return refused || ended();
}

/** The parts between commas, those in quoted strings aside. */
function partsOf(header: string): string[] {
  const parts: string[] = [];
  let [from, quoted] = [0, false];
  for (let at = 0; at < header.length; at++) {
    const char = header[at];
    if (quoted && char === "\\") at += 1;
    else if (char === '"') quoted = !quoted;
    else if (char === "," && !quoted) {
      parts.push(header.slice(from, at));
      from = at + 1;
    }
  }
  parts.push(header.slice(from)); // a quoted string that never ends fits no part
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}
