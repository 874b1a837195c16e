// Which values of a configuration must never be seen in text.
//
//   secrets-1. The place of a value makes it a secret: it was filled in from the environment, it is a header, the key of
//              seals or grants, an environment variable, argument or query parameter whose name says so, or a password in a
//              connection string.
//   secrets-2. Values shorter than 6 characters are not redacted. They would be found inside ordinary words, and hiding those
//              would hide what a person has to read.
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
/** Names such as API_KEY, apiKey, --token, DB_PASSWORD; not MAX_TOKENS, TOKENIZER, GIT_AUTHOR_NAME. */
const SAYS_SECRET =
  /api-?key|(^|[-_])key$|token(?!s|iz)|secret|passw|passphrase|credential|(^|[-_])auth(orization)?$|cookie/i;

/** Whether a name says that its value is a secret. Nobody should write a default for such a value into a file. */
export function saysSecret(name: string): boolean {
  return SAYS_SECRET.test(name);
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
    for (const [name, value] of Object.entries(server.env)) if (saysSecret(name)) yield value;
    yield* ofArguments(server.args);
  } else {
    for (const [name, value] of Object.entries(server.headers)) {
      if (FORMAT_HEADER.test(name)) continue;
      yield value;
      const bare = /^(?:bearer|basic|token|apikey)\s+(\S+)$/i.exec(value)?.[1];
      if (bare !== undefined) yield bare;
    }
    yield* ofUrl(server.url);
  }
}

/** `--token VALUE` and `--token=VALUE`. */
function* ofArguments(args: readonly string[]): Generator<string> {
  for (const [index, arg] of args.entries()) {
    const [option, value] = arg.split(/=(.*)/s) as [string, string?];
    if (!option.startsWith("-") || !saysSecret(option)) continue;
    const next = args[index + 1];
    if (value !== undefined) yield value;
    else if (next !== undefined && !next.startsWith("-")) yield next;
  }
}

function* ofUrl(text: string): Generator<string> {
  if (!URL.canParse(text)) return;
  const url = new URL(text);
  if (url.password !== "") yield* [url.password, decoded(url.password)];
  for (const [name, value] of url.searchParams) if (saysSecret(name)) yield value;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
