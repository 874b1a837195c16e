// URL test: `https://*.acme.com/**` in a rule, compared with an argument that is an address. Scheme, host, port and path are
// compared each by itself, the host label by label.
//
// In the host of an allow `*` stands for one label and `**` for several; in that of a deny or an ask both stand for
// several. A host that is one star is any host. Query and fragment are not compared: an allow covers an address that has
// them only where its path ends with `**`.
//
//   url-1. An allow covers an address only if the parts that a parser finds in it stand there as they are: no user, no blank,
//          no backslash, no other spelling of a host, no segment that leads elsewhere.
//   url-2. A deny or an ask covers each address that the parser brings to what is written, and each text that is no address.

import { type Glob, matches, pathGlob } from "./glob.js";
import { hasUnseen } from "./spelling.js";
import { looselyCovers, type TextTest, textTest } from "./text-test.js";

export interface UrlTest {
  /** Without its colon; `*` is any. */
  readonly scheme: string;
  readonly host: { readonly strict: Glob; readonly loose: Glob };
  /** `""` is the scheme's own port; undefined where none is written. */
  readonly port: string | undefined;
  readonly path: { readonly strict: Glob; readonly loose: TextTest };
  /** The path ends with `**`. */
  readonly open: boolean;
}

const WRITTEN = /^(\*|[a-z][a-z0-9+.-]*):\/\/([^/?#@\\%\s]+?)(?::(\d+|\*))?(\/[^?#\\]*)?$/iu;
const ADDRESS = /^([a-z][a-z0-9+.-]*):\/\/([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(\d+))?(\/[^?#]*)?([?#].*)?$/iu;

/** Reads a URL test of a rule, or says what is wrong with it. */
export function urlTest(text: string, reach: "narrow" | "wide"): UrlTest | string {
  const [, scheme, host, port, written] = WRITTEN.exec(text) ?? [];
  if (scheme === undefined || host === undefined) return "is no `scheme://host/path`, without user, query and fragment";
  if (reach === "narrow" && scheme === "*") return "needs a scheme: an allow is for one";
  if (reach === "narrow" && host.split(".").some((label) => /^\*+[^*]/u.test(label)))
    return "has a label that begins with `*`: in an allow `*` is a whole label";
  const labels = hostOf(scheme.toLowerCase(), host);
  const path = pathOf(written ?? (/^\*+$/u.test(host) ? "/**" : "/"));
  if (labels === undefined || path === undefined) return "has a host or a path that is none";
  const loose = labels.replace(/\*+/gu, "**");
  return {
    scheme: scheme.toLowerCase(),
    host: { strict: labelGlob(/^\*+$/u.test(labels) ? "**" : labels), loose: labelGlob(loose) },
    port: port === undefined || port === "*" ? port : portOf(scheme, port),
    path: { strict: pathGlob(path), loose: textTest(path, false) },
    open: path.endsWith("**"),
  };
}

/** Whether an allow with this test covers the address. (url-1) */
export function strictlyNames(test: UrlTest, value: string): boolean {
  const url = parsed(value);
  const [, , host = "", , path = "/", more] = ADDRESS.exec(value) ?? [];
  if (url === undefined || host === "" || hasUnseen(value) || /\s|\\/u.test(value)) return false;
  if (url.hostname !== host.toLowerCase() || host.split(".").includes("")) return false;
  if (url.pathname !== path && !(url.pathname === "" && path === "/")) return false;
  if (!hasPlainSegments(path) || (more !== undefined && !test.open)) return false;
  return (
    url.protocol === `${test.scheme}:` &&
    (test.port === "*" || url.port === (test.port ?? "")) &&
    matches(test.host.strict, joined(url.hostname)) &&
    matches(test.path.strict, path)
  );
}

/** Whether a deny or an ask with this test covers the address. (url-2) */
export function looselyNames(test: UrlTest, value: string): boolean {
  if (hasUnseen(value) || value.includes("\\")) return true;
  const url = parsed(value.trim());
  if (url === undefined || url.hostname === "" || url.username !== "" || url.password !== "") return true;
  const host = plainHost(url.hostname);
  if (host.includes("%") || authorityOf(value).includes("@")) return true;
  return (
    (test.scheme === "*" || url.protocol === `${test.scheme}:`) &&
    (test.port === undefined || test.port === "*" || url.port === test.port) &&
    matches(test.host.loose, joined(host)) &&
    looselyCovers(test.path.loose, url.pathname === "" ? "/" : url.pathname)
  );
}

/** What a lenient parser takes for user, host and port. */
function authorityOf(text: string): string {
  return text.replace(/^[^:]*:\/*/u, "").split(/[/?#]/u, 1)[0] as string;
}

function parsed(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

/** The host of a rule as a parser writes it, with its stars; undefined when it is none. */
function hostOf(scheme: string, host: string): string | undefined {
  const base = /^(?:https?|wss?|ftp)$/u.test(scheme) ? scheme : "http";
  if (!host.includes("*")) {
    const whole = parsed(`${base}://${host}/`)?.hostname;
    return whole === undefined || whole === "" ? undefined : plainHost(whole);
  }
  const labels = host.split(".").map((label) => {
    if (label.includes("*")) return /^[a-z0-9*_-]+$/iu.test(label) ? label.toLowerCase() : undefined;
    const long = parsed(`http://${label}.x/`)?.hostname; // alone, a number would be read as an address
    return long?.endsWith(".x") && label !== "" ? long.slice(0, -2) : undefined;
  });
  return labels.includes(undefined) ? undefined : labels.join(".");
}

/** Without the dot of the root, and IPv4 as IPv4. */
function plainHost(host: string): string {
  const [, high, low] = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/u.exec(host) ?? [];
  if (high === undefined || low === undefined) return host.toLowerCase().replace(/(?<!\.)\.+$/u, "");
  return [high, low].flatMap((part) => [Number.parseInt(part, 16) >> 8, Number.parseInt(part, 16) & 255]).join(".");
}

/** The path of a rule as a parser writes it: stars stay, other letters are encoded. */
function pathOf(path: string): string | undefined {
  return parsed(`https://x${path}`)?.pathname;
}

function portOf(scheme: string, port: string): string {
  return parsed(`${scheme}://x:${port}/`)?.port ?? port;
}

/** Labels are to a host what folders are to a path. */
function labelGlob(host: string): Glob {
  return pathGlob(joined(host));
}

function joined(host: string): string {
  return host.replaceAll(".", "/");
}

/** No empty segment but the last, none that leads elsewhere, nothing encoded that need not be. */
function hasPlainSegments(path: string): boolean {
  const segments = path.split("/").slice(1);
  if (segments.slice(0, -1).includes("") || segments.some((one) => /^\.{1,2}(?:;|$)/u.test(one))) return false;
  try {
    return [...path.matchAll(/(?:%[0-9a-f]{2})+/giu)].every(([run]) => {
      const plain = decodeURIComponent(run);
      return !/[\w.~/\\%-]/u.test(plain) && !hasUnseen(plain);
    });
  } catch {
    return false;
  }
}
