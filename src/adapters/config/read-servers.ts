// Turns a server as the file describes it into a server as toolgate knows it.
//
//   config-server-1. A server has a command or a url, never both. Every spelling of a transport means one of three.
//   config-server-2. Names are labels, never paths or addresses, so `../docs` is a name like any other unless
//                    `catalog.limits.serverName` says otherwise. Refused are the empty name, `local` (the server of toolgate's
//                    own tools), and characters that a rule or a reader could mistake: `*`, brackets, comma, hidden ones.
//   config-server-3. No two servers can give two tools one alias. Names whose mapped forms are equal are refused, and so are
//                    names of which one, followed by `__`, is the beginning of the other.
//   config-server-4. Requests to another machine use https. Plain http is for this machine only.

import { isAbsolute, resolve } from "node:path";
import { hasHidden, LOCAL, mapName, type ServerConfig } from "../../contracts/index.js";
import { type FileServer, TRANSPORTS } from "./file.js";
import { offerOf } from "./offer-keys.js";

/** Why a server or its name is refused: the key it concerns (below the server), the end of a sentence, and a hint. */
export interface ServerProblem {
  readonly key: readonly string[];
  readonly problem: string;
  readonly hint: string;
}

export type ReadServer = { readonly server: ServerConfig; readonly ignored: readonly string[] } | ServerProblem;

/** Normalises one server. Relative `cwd` is relative to `folder`. `ignored` names keys that its transport does not use. */
export function readServer(file: FileServer, folder: string): ReadServer {
  const { command, url } = file;
  const type = file.type ?? file.transport;
  if (command !== undefined && url !== undefined)
    return refuse([], "has both `command` and `url`", "keep `command` to start a program, or `url` to reach a server");
  if (command === undefined && url === undefined)
    return refuse([], "has neither `command` nor `url`", "give the program to start, or the address to reach");
  if (file.type !== undefined && file.transport !== undefined && TRANSPORTS[file.type] !== TRANSPORTS[file.transport])
    return refuse(["transport"], `says \`${file.transport}\` where \`type\` says \`${file.type}\``, "keep one of them");
  const kind = type === undefined ? (url === undefined ? "stdio" : "http") : TRANSPORTS[type];
  if ((kind === "stdio") !== (command !== undefined)) {
    const key = file.type === undefined ? "transport" : "type";
    const has = command === undefined ? "url" : "command";
    return refuse([key], `is \`${type}\` beside a \`${has}\``, "leave it out: it follows from `command` or `url`");
  }
  const offer = offerOf(file);
  if ("problem" in offer) return offer;
  const common = {
    ...offer,
    connect: file.connect,
    required: file.required,
    protocol: file.protocol,
    errors: file.errors,
    ...(file.verify === undefined ? {} : { verify: file.verify }),
    ...(file.timeout === undefined ? {} : { timeoutMs: file.timeout }),
    ...(file.grantSecret === undefined ? {} : { grantSecret: file.grantSecret }),
    ...(file.credentialId === undefined ? {} : { credentialId: file.credentialId }),
  };
  if (command !== undefined) {
    const cwd = resolve(folder, file.cwd ?? ".");
    const server = { type: "stdio" as const, command, args: file.args ?? [], env: file.env ?? {}, cwd, ...common };
    return processProblem(server) ?? { server, ignored: present(file, ["headers"]) };
  }
  const problem = urlProblem(url as string) ?? headerProblem(file.headers ?? {});
  if (problem) return problem;
  const headers = file.headers ?? {};
  const server = { type: kind as "http" | "sse", url: url as string, headers, ...common };
  return { server, ignored: present(file, ["args", "env", "cwd"]) };
}

function present(file: FileServer, keys: readonly (keyof FileServer)[]): string[] {
  return keys.filter((key) => file[key] !== undefined);
}

function refuse(key: readonly string[], problem: string, hint: string): ServerProblem {
  return { key, problem, hint };
}

/** Refuses what no operating system takes: NUL anywhere, and `=` in the name of a variable. */
function processProblem(server: { command: string; args: string[]; env: Record<string, string>; cwd: string }) {
  const nul = (key: string[]) => refuse(key, "holds a NUL character", "take it out: no program can be given one");
  if (server.command.includes("\0")) return nul(["command"]);
  if (server.cwd.includes("\0")) return nul(["cwd"]);
  if (server.args.some((arg) => arg.includes("\0"))) return nul(["args"]);
  for (const [name, value] of Object.entries(server.env)) {
    if (/^$|[=\0]/.test(name)) return refuse(["env"], "names a variable that no system takes", "use letters and `_`");
    if (value.includes("\0")) return nul(["env", name]);
  }
  return undefined;
}

/** Why toolgate does not send to this address. The address is not quoted, because it may hold a secret. (config-server-4) */
export function urlProblem(text: string): ServerProblem | undefined {
  if (!URL.canParse(text)) return refuse(["url"], "is not a URL", "write it whole: https://host/path");
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:")
    return refuse(["url"], `is a \`${url.protocol}\` address`, "toolgate speaks https, and http on this machine");
  if (url.username !== "" || url.password !== "")
    return refuse(
      ["url"],
      "holds a user name or password",
      "put credentials into `headers`: requests cannot carry them",
    );
  if (url.protocol === "http:" && !isLoopback(url.hostname))
    return refuse(
      ["url"],
      "is plain http to another machine",
      "use https; http is taken for localhost, 127.0.0.1, [::1]",
    );
  return undefined;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function headerProblem(headers: Readonly<Record<string, string>>): ServerProblem | undefined {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))
      return refuse(["headers"], "names a header that HTTP does not take", "use letters, digits and `-`");
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      return refuse(
        ["headers", name],
        "holds a character that a header cannot carry",
        "look for a line break at its end",
      );
  }
  return undefined;
}

/** Why these names cannot be used together, and which one is wrong. (config-server-2, config-server-3) */
export function namesProblem(
  names: readonly string[],
  pattern: string | undefined,
): { readonly name: string; readonly problem: string; readonly hint: string } | undefined {
  const whole = pattern === undefined ? undefined : new RegExp(`^(?:${pattern})$`, "u");
  for (const [index, name] of names.entries()) {
    const refused = nameProblem(name);
    if (refused) return { name, ...refused };
    if (whole && !whole.test(name)) {
      const problem = "is a name that `catalog.limits.serverName` does not take";
      return { name, problem, hint: `rename it: names must match \`${pattern}\`` };
    }
    const other = names.slice(0, index).find((earlier) => collide(earlier, name));
    if (other !== undefined) {
      const problem = `and server \`${other}\` could give two tools one name`;
      return { name, problem, hint: "rename one: for the model, names are mapped to letters, digits, `_` and `-`" };
    }
  }
  return undefined;
}

function nameProblem(name: string): { problem: string; hint: string } | undefined {
  if (name === "") return { problem: "has no name", hint: "give it one" };
  if (name === LOCAL) return { problem: "has the name of toolgate's own tools", hint: "rename it" };
  if (/[*(),]/.test(name)) return { problem: "has a name no rule could name", hint: "leave out `*`, `(`, `)` and `,`" };
  if (hasHidden(name) || /^\s|\s$|[\n\t]/u.test(name))
    return { problem: "has a name with characters nobody can see", hint: "type it again by hand" };
  return undefined;
}

/** Whether `mcp__{one}__{tool}` and `mcp__{other}__{tool}` can ever be equal, once mapped. */
function collide(one: string, other: string): boolean {
  const [a, b] = [`${mapName(one)}__`, `${mapName(other)}__`];
  return a.startsWith(b) || b.startsWith(a);
}

/** An absolute path for what the file says relative to its folder. */
export function inFolder(folder: string, path: string): string {
  return isAbsolute(path) ? path : resolve(folder, path);
}

/** Whether a tool pattern's server part is `name`, as written or as mapped. */
export function isAbout(pattern: string, name: string): boolean {
  return [name, mapName(name)].some((form) => pattern === `mcp__${form}` || pattern.startsWith(`mcp__${form}__`));
}
