// Destination: where a call goes and who it is called as, read from the configuration of its server. The person who is asked
// reads it, and a yes holds for it alone.
//
// It is pure.
//
//   destination-1. The text holds no secret and no hidden character, and it is never longer than `TEXT_CHARS`.
//   destination-2. The digest changes with everything that says where a call goes and who it is called as, and with nothing
//                  else: neither with the order of variables and headers, nor with time limits and other settings.
//   destination-3. The values of secrets, variables and headers go into a digest only under a key that outlives the process:
//                  otherwise whoever reads the store could guess at them. What is digested without a key is the rest, when the
//                  secrets are taken out, and the names of variables and headers. Hosts without a key in common compare that.
//   destination-4. Under a `credentialId` the values of secrets, variables and headers may change: it is the host's word that
//                  they stand for the same caller. The command, the folder and the origin of a url still count by value.
//   destination-5. A question about a call that goes elsewhere since it was last asked says so. From the second time on it says
//                  to set `credentialId`, where the server has none.

import { createHmac } from "node:crypto";
import {
  type ApprovalRequest,
  type Destination,
  oneLine,
  type ServerConfig,
  sameDestination,
  sha256,
} from "../contracts/index.js";

/** Characters of the text. */
export const TEXT_CHARS = 500;
/** Of these, characters of the `credentialId`: it is shown however long the command is. */
const WHO_CHARS = 100;

export interface DestinationTerms {
  /** Takes secrets out of what a person reads. */
  readonly redact: (text: string) => string;
  /** Takes secrets out of what is digested, and leaves the same mark whatever they are. */
  readonly cut: (text: string) => string;
  /** Secret that outlives the process. A key of its own is derived from it. */
  readonly secret: string | undefined;
  /** The folder of the configuration. A person is told of any other one that a program starts in. */
  readonly folder: string;
}

/** Where the calls to this server go, and who they are made as. */
export function destinationOf(server: ServerConfig, terms: DestinationTerms): Destination {
  const { cut, secret } = terms;
  const plain = sha256(JSON.stringify(coveredBy(server, cut, false)));
  const text = textOf(server, terms);
  if (secret === undefined) return { text, digest: plain };
  const key = hmac(secret, "toolgate destination");
  const whole = hmac(key, JSON.stringify(coveredBy(server, cut, true))).toString("hex");
  const keyName = hmac(key, "name").toString("hex").slice(0, 16);
  return { text, digest: `${plain}:${keyName}:${whole}` };
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

/** What a digest is made from: with a key, or without one. */
function coveredBy(server: ServerConfig, cut: DestinationTerms["cut"], keyed: boolean): unknown {
  const { credentialId } = server;
  const asIs = (text: string) => text;
  const where = keyed ? asIs : cut; // destination-3
  const whole = keyed && credentialId === undefined; // destination-3, destination-4
  const mayHoldSecrets = whole ? asIs : cut;
  const named = (record: Readonly<Record<string, string>>, nameOf = asIs) =>
    Object.entries(record)
      .map(([name, value]) => (whole ? [nameOf(name), value] : [nameOf(name)]))
      .sort(byName);
  const who = credentialId === undefined ? null : where(credentialId);
  if (server.type === "stdio") {
    const { type, command, args, cwd, env } = server;
    return [type, who, where(command), args.map(mayHoldSecrets), where(cwd), named(env)];
  }
  const { type, url, headers } = server;
  const origin = keyed ? originOf(url) : null; // in lower case, so that a secret in it would not be found
  return [type, who, origin, mayHoldSecrets(url), named(headers, (name) => name.toLowerCase())];
}

/** By name, in the order of code units. Headers whose names differ in case only keep their order: they are sent in it. */
function byName([a = ""]: readonly string[], [b = ""]: readonly string[]): number {
  return a < b ? -1 : Number(a > b);
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url;
}

/** What a person reads. (destination-1) */
function textOf(server: ServerConfig, { redact, folder }: DestinationTerms): string {
  const { credentialId } = server;
  const shown = (text: string, chars: number) =>
    oneLine(redact(oneLine(redact(text), Number.POSITIVE_INFINITY)), chars); // cut last: half a secret is not found
  const as = credentialId === undefined ? "" : ` as \`${shown(credentialId, WHO_CHARS)}\``;
  const where = server.type === "stdio" ? programOf(server, redact, folder) : server.url;
  return shown(`${shown(where, TEXT_CHARS - as.length)}${as}`, TEXT_CHARS);
}

function programOf(
  { command, args, cwd }: Extract<ServerConfig, { type: "stdio" }>,
  redact: (text: string) => string,
  folder: string,
): string {
  const line = [command, ...args].map((word) => quoted(redact(word))).join(" ");
  return `runs \`${line}\`${cwd === folder ? "" : ` in \`${redact(cwd)}\``}`;
}

/** One argument. In quotes where it could be taken for several, or for the end of the line. */
function quoted(word: string): string {
  return /^[^\s"'`\\]+$/u.test(word) ? word : JSON.stringify(word);
}

/** What a new question says of where the call goes, beside what the question before it said. */
export interface Reasked {
  readonly destination: NonNullable<ApprovalRequest["destination"]> | undefined;
  /** Why a person is asked again; undefined where the call goes where it went. */
  readonly why: string | undefined;
}

/** Compares where a call goes with where it went when it was last asked about. (destination-5) */
export function reasked(
  now: Destination | undefined,
  before: Pick<ApprovalRequest, "destination"> | undefined,
  server: { readonly name: string; readonly credentialId: string | undefined },
): Reasked {
  const was = before?.destination;
  if (now === undefined) return { destination: undefined, why: undefined };
  if (before === undefined) return { destination: { ...now, moved: 0 }, why: undefined };
  if (was === undefined) {
    return { destination: { ...now, moved: 0 }, why: "the question before this one did not say where the call goes" };
  }
  if (sameDestination(was.digest, now.digest)) return { destination: { ...now, moved: was.moved }, why: undefined };
  const moved = was.moved + 1;
  const name = `\`${oneLine(server.name, 60)}\``;
  const what =
    was.text === now.text
      ? `where this call goes, or who it is made as, has changed since it was asked about: ${name} has other arguments, variables, headers or credentials, or starts in another folder`
      : `where this call goes has changed since it was asked about: it was ${was.text}`;
  const hint = `this has happened ${moved} times; where only the credentials of ${name} change, set its \`credentialId\`, and changed credentials do not ask again`;
  const why = moved < 2 || server.credentialId !== undefined ? what : `${what}; ${hint}`;
  return { destination: { ...now, moved }, why };
}
