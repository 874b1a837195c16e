// Which values of a configuration must never be seen in text.
//
//   secrets-1. The place of a value makes it a secret: it was filled in from the environment, it is the key of seals or
//              grants, a header, environment variable, argument or query parameter whose name says so, or a password in a
//              connection string. So are the parts of such a value (parts.ts). In an argument, a variable or a url the same places count where they stand inside of the
//              text: `--header "Authorization: Bearer VALUE"`, `--env=API_KEY=VALUE`, `{"token": "VALUE"}`,
//              `postgres://user:VALUE@host`. There a value also counts that has the form of a well-known kind of token.
//   secrets-2. Values shorter than 6 characters are not redacted. They would be found inside ordinary words, and hiding those
//              would hide what a person has to read. For that reason its place in an argument, a variable or a url makes none
//              of these a secret: a path, the name of a variable (`$TOKEN`), a word that names a way to log in
//              (`--auth bearer`), a password that is the name of its user.
//   secrets-3. For the same reason the variables that a session sets for every program (HOME, USER, PATH and the like) and
//              headers that only name a format (Accept, Content-Type, User-Agent and the like) are not secrets.
//   secrets-4. What is written in the configuration itself, as a header or an environment variable, is also a secret where it
//              looks like one (looks.ts). It is taken out of text. It never changes what a server's definition says and
//              withholds no tool, because a host may well write a value that is the name of something.

import type { ServerConfig } from "../../contracts/index.js";
import { MIN_SECRET_CHARS } from "../../observation/redact.js";
import { looksSecret, surelyNoSecret } from "./looks.js";
import { saysSecret } from "./names.js";
import { itemsOf, partsOf } from "./parts.js";

const SESSION = new Set(
  "HOME USER LOGNAME USERNAME PATH PWD SHELL TMPDIR TMP TEMP LANG TERM HOSTNAME NODE_ENV USERPROFILE APPDATA".split(
    " ",
  ),
);
const FORMAT_HEADER = /^(accept(-.*)?|content-type|user-agent|cache-control|mcp-protocol-version)$/i;
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
/** Each begins where a run of its characters begins, so that a long value is looked through once and not from each character. */
const URLS = /(?<![a-z0-9+.-])[0-9+.-]*([a-z][a-z0-9+.-]*:\/\/[^\s"'<>]+)/gi;
/** `NAME=`, wherever it stands; what follows it is the value. It begins where a run begins, as an url does. */
const ASSIGNED = /(?<![\w.-])([\w.-]+)=/g;
/** `NAME: `, and the headers that hold secrets also where no space follows. An image such as `auth:latest` is not one. */
const HEADER = /(?<![\w-])((?:proxy-)?authorization|(?:set-)?cookie|[\w-]+(?=:\s))\s*:\s*/gi;
const HEADER_OPTION = /^(?:-H|--headers?(?=$|=))=?(.*)$/s;
const IN_JSON = /"([^"\\]+)"\s*:\s*("(?:[^"\\]|\\.)*")/g;
const AFTER_SCHEME = /\b(?:bearer|basic)\s+([\w.~+/-]+=*)/gi;
/** Where the value ends that stands in a longer text. */
const VALUE_END = /[;&"'\r\n]|\s+[\w.-]+=|\s+--?[a-z]/i;
/** Nothing but words: hidden only where a name says that they are secret. */
const PROSE = /^[A-Za-z\s.,!?]*$/;
export interface SecretSources {
  readonly used: ReadonlyMap<string, string>;
  readonly servers: readonly ServerConfig[];
  readonly approvalSecrets?: readonly (string | undefined)[];
  readonly databaseUrl?: string | undefined;
}

/** Values that are taken out of text, longest first. */
export interface Secrets {
  /** What came from the environment, and the keys of seals and grants: taken out of definitions, too. */
  readonly secrets: string[];
  /** What is written in the configuration itself. (secrets-4) */
  readonly literalSecrets: string[];
}

export function secretsOf(sources: SecretSources): Secrets {
  const found = new Set<string>();
  const add = (value: string, named: boolean) => {
    const parts = [value, ...partsOf(value, named)];
    for (const part of [...parts, ...[...parts, ...itemsOf(value)].flatMap((one) => [...ofText(one)])]) found.add(part);
  };
  for (const [name, value] of sources.used) if (!SESSION.has(name)) add(value, saysSecret(name));
  for (const { grantSecret } of sources.servers) if (grantSecret !== undefined) found.add(grantSecret);
  for (const secret of sources.approvalSecrets ?? []) if (secret !== undefined) found.add(secret);
  if (sources.databaseUrl !== undefined) for (const value of ofUrl(sources.databaseUrl)) found.add(value);
  const written = new Set(sources.servers.flatMap((server) => [...ofServer(server)]));
  return {
    secrets: longestFirst([...found]),
    literalSecrets: longestFirst([...written].filter((value) => !found.has(value))),
  };
}

function longestFirst(values: readonly string[]): string[] {
  return values.filter((value) => value.length >= MIN_SECRET_CHARS).sort((a, b) => b.length - a.length);
}

/** Where a server's configuration holds a secret that is too short to be taken out of text (secrets-2). */
export function shortSecretsOf(server: ServerConfig): string[] {
  const short = (values: Iterable<string>) =>
    [...values].some((value) => value.length > 0 && value.length < MIN_SECRET_CHARS);
  const named = server.type === "stdio" ? { env: server.env } : { headers: server.headers };
  const rest = server.type === "stdio" ? { args: ofArguments(server.args) } : { url: ofText(server.url) };
  return [
    ...Object.entries(named).flatMap(([key, record]) =>
      Object.entries(record)
        .filter(([name, value]) => short(ofSetting(name, value)))
        .map(([name]) => `${key}.${name}`),
    ),
    ...Object.entries(rest).flatMap(([key, values]) => (short(values) ? [key] : [])),
  ];
}

function* ofServer(server: ServerConfig): Generator<string> {
  const settings = server.type === "stdio" ? server.env : server.headers;
  for (const [name, value] of Object.entries(settings)) yield* ofSetting(name, value);
  if (server.type === "stdio") {
    yield* ofText(server.command);
    yield* ofArguments(server.args);
  } else yield* ofText(server.url);
}

/** An environment variable or a header. (secrets-1, secrets-4) */
function* ofSetting(name: string, value: string): Generator<string> {
  if (FORMAT_HEADER.test(name)) return;
  const named = saysSecret(name);
  if (named) yield* ofValue(value);
  const parts = partsOf(value, named);
  for (const text of [value, ...itemsOf(value)]) yield* ofText(text);
  if (named || value.includes("-----BEGIN ")) yield* parts;
  const words = /^\s*[[{]/.test(value) ? [] : value.split(/[\s,;]+/); // JSON has its parts
  for (const word of [value, ...parts, ...words]) if (looksSecret(word)) yield word;
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
  for (const [, url = ""] of text.matchAll(URLS)) yield* ofUrl(url);
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
  if (!surelyNoSecret(bare)) yield* new Set([value, bare]);
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
