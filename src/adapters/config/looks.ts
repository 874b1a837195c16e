// What a value looks like, where no name says what it is.

/** Certainly no secret, in whatever place it stands. */
const NO_SECRET = [
  /^(?:~|\.{1,2}|[A-Za-z]:)[/\\]|^(?:\/[a-z0-9._-]+){2,}\/?$|^\/\S*\.[a-z]{2,5}$/, // a path; Base64 may begin with `/`, too
  /^\$(?:\w+|\{\w+\})$/, // a variable that something else fills in
  /^(?:bearer|basic|digest|token|tokens|api-?key|oauth2?|password|secret|prompt|keychain|keyring|required|optional|disabled|enabled|true|false|null|none)$/i,
];

/** Nothing that anybody hides, where no name says that it is hidden. */
const PLAIN = [
  /^[A-Za-z]{1,11}$/, // a word, such as `production`
  /^[+-]?[\d.,_:/-]+$/, // a number, a date, an address and a port
  /^v?\d+(?:\.\d+)+(?:[-+][\w.-]+)?$/, // a version
  /^[a-z]{2,3}(?:-[a-z]+)+-?\d{1,2}[a-z]?$/, // a region, such as `eu-central-1`
  /^(?:[A-Za-z0-9-]{1,24}\.)+[A-Za-z]{2,12}(?::\d{1,5})?$|^[\w-]{1,63}:\d{2,5}$/, // a host
  /^[\w.+-]+@(?:[\w-]+\.)+[A-Za-z]{2,12}$/, // an address of mail
  /^[a-z][a-z0-9+.-]*:\/\/|^(?:arn|urn|did|file|data):/i, // a url; what is secret in it is looked for by itself
  /^\.?\/[\w.@~+-]+(?:\/[\w.@~+-]*)*$/, // an absolute path
  /^(?=[^/]*\/)(?=.*[-_.@:])[\w.@:-]+(?:\/[\w.@:-]+)*$/, // a relative one, a type of media, a container's image
  /^[A-Z]?[a-z]+\d*(?:\/[A-Z]?[a-z_]+\d*)+$/, // `Europe/Berlin`
];
const MIXED_CHARS = 12;
const ENCODED_CHARS = 20;

/** Whether its place does not make it a secret, whatever its name says: a path, a setting. */
export function surelyNoSecret(value: string): boolean {
  return NO_SECRET.some((pattern) => pattern.test(value));
}

/** Whether a value without a name of its own is something that nobody hides: a word, a number, a host, a path, a region. */
export function looksPlain(value: string): boolean {
  return surelyNoSecret(value) || PLAIN.some((pattern) => pattern.test(value));
}

/** Whether a value has the form of a secret: letters of both cases and digits, or long Base64 or hex. */
export function looksSecret(value: string): boolean {
  if (/\s|^[[{]/.test(value) || /^[\w.-]+=[^=]/.test(value) || looksPlain(value)) return false;
  const mixed = /[a-z]/.test(value) && /[A-Z]/.test(value) && /\d/.test(value);
  if (mixed && value.length >= MIXED_CHARS) return true;
  const encoded = /^[A-Za-z0-9+/]+={0,2}$/.test(value) && /[A-Za-z]/.test(value) && /[\d+=]/.test(value);
  return value.length >= ENCODED_CHARS && (encoded || /^[0-9a-f]+$/i.test(value));
}
