// Which values of a configuration must never be seen in text.
//
//   secrets-1. The place of a value makes it a secret: it was filled in from the environment, it is a header, the key of
//              seals or grants, an environment variable, argument or query parameter whose name says so, or a password in a
//              connection string. In an argument, a variable or a url the same places count where they stand inside of the
//              text: `--header "Authorization: Bearer VALUE"`, `--env=API_KEY=VALUE`, `{"token": "VALUE"}`,
//              `postgres://user:VALUE@host`. There a value also counts that has the form of a well-known kind of token.
//   secrets-2. Values shorter than 6 characters are not redacted. They would be found inside ordinary words, and hiding those
//              would hide what a person has to read. For that reason its place in an argument, a variable or a url makes none
//              of these a secret: a path, the name of a variable (`$TOKEN`), a word that names a way to log in
//              (`--auth bearer`), a password that is the name of its user.
//   secrets-3. For the same reason the variables that a session sets for every program (HOME, USER, PATH and the like) and
//              headers that only name a format (Accept, Content-Type, User-Agent and the like) are not secrets.

import type { ServerConfig } from "../../contracts/index.js";
import { MIN_SECRET_CHARS } from "../../observation/redact.js";

const SESSION = new Set(
  "HOME USER LOGNAME USERNAME PATH PWD SHELL TMPDIR TMP TEMP LANG TERM HOSTNAME NODE_ENV USERPROFILE APPDATA".split(
    " ",
  ),
);
const FORMAT_HEADER = /^(accept(-.*)?|content-type|user-agent|cache-control|mcp-protocol-version)$/i;
/** Names such as API_KEY, apiKey, --token, --pat, DB_PASSWORD; not MAX_TOKENS, TOKENIZER, GIT_AUTHOR_NAME, --path. */
const SAYS_SECRET =
  /api-?key|(^|[-_])key$|token(?!s|iz)|secret|passw|passphrase|credential|(^|[-_])auth(orization)?$|(^|[-_])pat($|[-_])|cookie/i;

/** Tokens that are known by their form, wherever they stand. */
const TOKENS = new RegExp(
  `(?<![A-Za-z0-9])(?:${[
    "sk-(?=[\\w-]*\\d)[\\w-]{16,}", // with a digit: `sk-` also begins names made of words
    "gh[opsru]_[A-Za-z0-9]{16,}",
    "github_pat_\\w{16,}",
    "glpat-[\\w-]{16,}",
    "xox[a-z]-[\\w-]{10,}",
    "(?:AKIA|ASIA)[A-Z0-9]{16}",
    "eyJ[\\w-]{6,}\\.[\\w-]{4,}\\.[\\w-]*", // a JWT
  ].join("|")})`,
  "g",
);
const URLS = /[a-z][a-z0-9+.-]*:\/\/[^\s"'<>]+/gi;
/** `NAME=`, wherever it stands; what follows it is the value. */
const ASSIGNED = /([\w.-]+)=/g;
/** `NAME: `, and the headers that hold secrets also where no space follows. An image such as `auth:latest` is not one. */
const HEADER = /(?<![\w-])((?:proxy-)?authorization|(?:set-)?cookie|[\w-]+(?=:\s))\s*:\s*/gi;
const HEADER_OPTION = /^(?:-H|--headers?(?=$|=))=?(.*)$/s;
const IN_JSON = /"([^"\\]+)"\s*:\s*("(?:[^"\\]|\\.)*")/g;
const AFTER_SCHEME = /\b(?:bearer|basic)\s+([\w.~+/-]+=*)/gi;
/** Where the value ends that stands in a longer text. */
const VALUE_END = /[;&"'\r\n]|\s+[\w.-]+=|\s+--?[a-z]/i;
/** Nothing but words: hidden only where a name says that they are secret. */
const PROSE = /^[A-Za-z\s.,!?]*$/;
const SURELY_NO_SECRET = [
  /^(?:~|\.{1,2}|[A-Za-z]:)[/\\]|^(?:\/[a-z0-9._-]+){2,}\/?$|^\/\S*\.[a-z]{2,5}$/, // a path; Base64 may begin with `/`, too
  /^\$(?:\w+|\{\w+\})$/, // a variable that something else fills in
  /^(?:bearer|basic|digest|token|tokens|api-?key|oauth2?|password|secret|prompt|keychain|keyring|required|optional|disabled|enabled)$/i,
];

/** Whether a name says that its value is a secret. Nobody should write a default for such a value into a file. */
export function saysSecret(name: string): boolean {
  return SAYS_SECRET.test(name) && !/(file|path|dir|folder)$/i.test(name);
}

export interface SecretSources {
  readonly used: ReadonlyMap<string, string>;
  readonly servers: readonly ServerConfig[];
  readonly approvalSecrets?: readonly (string | undefined)[];
  readonly databaseUrl?: string | undefined;
}

/** All secrets, longest first, so that a redactor meets `Bearer abc…` before `abc…`. */
export function secretsOf(sources: SecretSources): string[] {
  const found = new Set<string>();
  for (const [name, value] of sources.used) if (!SESSION.has(name)) found.add(value);
  for (const server of sources.servers) {
    for (const value of ofServer(server)) found.add(value);
    if (server.grantSecret !== undefined) found.add(server.grantSecret);
  }
  for (const secret of sources.approvalSecrets ?? []) if (secret !== undefined) found.add(secret);
  if (sources.databaseUrl !== undefined) for (const value of ofUrl(sources.databaseUrl)) found.add(value);
  return [...found].filter((value) => value.length >= MIN_SECRET_CHARS).sort((a, b) => b.length - a.length);
}

function* ofServer(server: ServerConfig): Generator<string> {
  if (server.type === "stdio") {
    for (const [name, value] of Object.entries(server.env)) {
      if (saysSecret(name)) yield* ofValue(value);
      yield* ofText(value);
    }
    yield* ofText(server.command);
    yield* ofArguments(server.args);
  } else {
    for (const [name, value] of Object.entries(server.headers)) {
      if (FORMAT_HEADER.test(name)) continue;
      yield value;
      yield* withoutScheme(value);
    }
    yield* ofText(server.url);
  }
}

/** `--token VALUE`, `--header "NAME: VALUE"`, and what each argument holds by itself. */
function* ofArguments(args: readonly string[]): Generator<string> {
  for (const [index, arg] of args.entries()) {
    yield* ofText(arg);
    const next = args[index + 1] ?? "";
    const header = HEADER_OPTION.exec(arg)?.[1];
    if (header !== undefined) yield* ofHeader(header || next);
    else if (/^-[^=]*$/.test(arg) && saysSecret(arg) && !next.startsWith("-")) yield* ofValue(next);
  }
}

/** `NAME: VALUE` behind an option that takes a header: as in `headers`, only that a word may stand for a setting. */
function* ofHeader(text: string): Generator<string> {
  const [name = "", value = ""] = text.split(/\s*:\s*(.*)/s);
  if (!FORMAT_HEADER.test(name) && (saysSecret(name) || !PROSE.test(value))) yield* ofValue(value);
}

/** The secrets in an argument, the value of a variable, or a url. (secrets-1) */
function* ofText(text: string): Generator<string> {
  for (const [url] of text.matchAll(URLS)) yield* ofUrl(url);
  for (const [token] of text.matchAll(TOKENS)) yield token;
  for (const [, value = ""] of text.matchAll(AFTER_SCHEME)) if (!PROSE.test(value)) yield* ofValue(value);
  for (const [, name = "", value = '""'] of text.matchAll(IN_JSON)) if (saysSecret(name)) yield* ofJson(value);
  for (const { 0: all, 1: name = "", index } of text.matchAll(ASSIGNED)) {
    if (!saysSecret(name)) continue;
    const rest = text.slice(index + all.length);
    yield* ofRest(rest);
    if (index === 0) yield* ofValue(rest); // the whole argument is this value, whatever is in it
  }
  for (const { 0: all, 1: name = "", index } of text.matchAll(HEADER)) {
    if (!saysSecret(name)) continue;
    const rest = text.slice(index + all.length);
    if (/^(proxy-)?auth|cookie/i.test(name) || !PROSE.test(rest)) yield* ofRest(rest);
  }
}

/** The value that a text begins with. What follows it may be further words of a command, or more of the value: both count. */
function* ofRest(rest: string): Generator<string> {
  const value = /^(["'])(.*?)\1/s.exec(rest)?.[2] ?? (rest.split(VALUE_END)[0] as string);
  yield* ofValue(value);
  const word = value.split(/\s/)[0] as string;
  if (!PROSE.test(word)) yield* ofValue(word);
}

/** A string of JSON, as it is written and as it is meant. */
function* ofJson(text: string): Generator<string> {
  yield* ofValue(text.slice(1, -1));
  try {
    yield* ofValue(String(JSON.parse(text)));
  } catch {} // no JSON: it counts as it is written
}

/** A value in a place of secrets. (secrets-2) */
function* ofValue(value: string): Generator<string> {
  const [bare = value] = withoutScheme(value);
  if (!SURELY_NO_SECRET.some((pattern) => pattern.test(bare))) yield* new Set([value, bare]);
}

function* withoutScheme(value: string): Generator<string> {
  const bare = /^(?:bearer|basic|token|apikey)\s+(\S+)$/i.exec(value)?.[1];
  if (bare !== undefined) yield bare;
}

function* ofUrl(text: string): Generator<string> {
  for (const [, name = "", value = ""] of text.matchAll(/[?&#;]([^=?&#;]+)=([^&#]*)/g)) {
    if (saysSecret(decoded(name))) yield* [...ofValue(value), ...ofValue(decoded(value.replaceAll("+", " ")))];
  }
  if (!URL.canParse(text)) {
    const password = /:\/\/[^\s:@/]*:(\S+)@/.exec(text)?.[1]; // several hosts, or characters that want encoding
    if (password !== undefined) yield* [password, decoded(password)];
    return;
  }
  const { protocol, username, password } = new URL(text);
  const written = /^[^:]+:\/\/[^/?#:]*:([^/?#]*)@/.exec(text)?.[1] ?? password; // the parser encodes some characters
  if (password !== username) yield* [written, decoded(written), password, decoded(password)];
  if (password === "" && /^https?:$/.test(protocol)) yield* [username, decoded(username)]; // a token in the user's place
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
