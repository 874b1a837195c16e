// Challenge: whether an HTTP 401 says that the access token was refused (RFC 9110 section 11.6.1, RFC 6750 section 3).
//
// The header is read by its grammar: a word within a quoted string, such as a realm, is no challenge.

/** A token, `=` and a token or quoted string; or a scheme, with its first parameter or a token68; or a comma. */
const PART = /\s*(?:(,)|([!#$%&'*+.^_`|~0-9A-Za-z-]+)(\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([!#$%&'*+.^_`|~0-9A-Za-z-]+)))?)/y;

/** `true` where a Bearer challenge has `error="invalid_token"`. A header that breaks the grammar says nothing. */
export function refusesToken(header: string | null): boolean {
  if (header === null) return false;
  let scheme = "";
  let refused = false;
  PART.lastIndex = 0;
  while (PART.lastIndex < header.trimEnd().length) {
    const part = PART.exec(header);
    if (part === null) return false;
    const [, comma, word = "", assigned, quoted, token] = part;
    if (comma !== undefined) continue;
    if (assigned === undefined) scheme = word.toLowerCase();
    else if (scheme === "bearer" && word.toLowerCase() === "error") {
      refused ||= (quoted?.replace(/\\(.)/g, "$1") ?? token) === "invalid_token";
    }
  }
  return refused;
}
