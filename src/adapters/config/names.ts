// Names that say that their value is a secret.

/** Names such as API_KEY, apiKey, --token, --pat, DB_PASSWORD; not MAX_TOKENS, TOKENIZER, GIT_AUTHOR_NAME, --path. */
const SAYS_SECRET =
  /api-?key|(^|[-_])key$|token(?!s|iz)|secret|passw|passphrase|credential|(^|[-_])auth(orization)?$|(^|[-_])pat($|[-_])|cookie/i;
/** Words of a name that say it wherever they stand: ACCESS_KEY_ID, authHeader, API_KEYS. */
const WORDS = new Set(
  "key keys apikey apikeys secret secrets token password passwords passwd pwd pass auth authorization credential credentials creds bearer".split(
    " ",
  ),
);
/** It is about a secret and is none. */
const ABOUT =
  /(file|path|dir|folder|url|uri|endpoint|host|name|type|mode|method|header|scheme|provider|algorithm|enabled|required|timeout|ttl|expiry|limit|count)$/i;
const OTHER_TOKENS = /(?:^|[^a-z])(?:max|min|num|total|input|output|context|limit)[-_ ]?tokens?$/i;

/** Whether a name says that its value is a secret. Nobody should write a default for such a value into a file. */
export function saysSecret(name: string): boolean {
  if (ABOUT.test(name) || OTHER_TOKENS.test(name)) return false;
  return (
    SAYS_SECRET.test(name) ||
    wordsOf(name).some((word) => WORDS.has(word)) ||
    /[a-z]tokens$/i.test(name.replaceAll(/[-_]/g, ""))
  );
}

function wordsOf(name: string): string[] {
  const spaced = name.replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2").replaceAll(/([A-Z])([A-Z][a-z])/g, "$1 $2");
  return spaced.toLowerCase().split(/[^a-z0-9]+/);
}
