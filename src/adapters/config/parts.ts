// Parts: what in a secret value is a secret by itself. A server that was given a key or a list of tokens says one line of
// it, or one token.
//
//   parts-1. Parts are: each line of a PEM key; the fields of a JSON credential that a name or their form says are secret; each
//            item of a list, divided by commas or lines or written as JSON. The same counts of what is in a Base64 text.
//   parts-2. An item that nobody hides (looks.ts: a word, a number, a host) is no part, unless the list's name says so.

import { isObject } from "../../contracts/index.js";
import { looksPlain, looksSecret } from "./looks.js";
import { saysSecret } from "./names.js";

/** How deep values may stand in values. */
const LEVELS = 4;

/** The parts of a value. `named`: its name says that it is a secret. */
export function partsOf(value: string, named = false, level = 0): string[] {
  if (level > LEVELS) return [];
  const json = parsed(value);
  if (json !== undefined) return ofJson(json, named, level);
  if (value.includes("-----BEGIN ")) return linesOfPem(value);
  const inside = decodedText(value);
  if (inside !== undefined) return [inside, ...partsOf(inside, named, level + 1)];
  return itemsOf(value).flatMap((item) => ofItem(item, named, level));
}

/** What stands between the marks of a PEM text, which may hold its line feeds as `\n`; and all of it in one piece. */
function linesOfPem(text: string): string[] {
  return text
    .replaceAll(/\\r|\\n/g, "\n")
    .split(/-----(?:BEGIN|END) [^-]*-----/)
    .flatMap((body) => {
      const lines = body.split(/\s*\n\s*|\s+/).filter((line) => /^[A-Za-z0-9+/]+={0,2}$/.test(line));
      return [...lines, lines.join("")];
    });
}

function parsed(text: string): unknown {
  if (!/^\s*[[{"]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function ofJson(value: unknown, named: boolean, level: number): string[] {
  if (level > LEVELS) return [];
  if (Array.isArray(value)) {
    return value.flatMap((item) =>
      typeof item === "string" ? ofItem(item, named, level) : ofJson(item, named, level + 1),
    );
  }
  if (!isObject(value)) return named && (typeof value === "string" || typeof value === "number") ? [String(value)] : [];
  return Object.entries(value).flatMap(([name, field]) => {
    const says = saysSecret(name);
    if (typeof field !== "string") return ofJson(field, says, level + 1);
    const itself = says || looksSecret(field) ? [field] : [];
    return [...itself, ...partsOf(field, says, level + 1)];
  });
}

/** The items of a list that commas or lines divide. */
export function itemsOf(text: string): string[] {
  const items = text.split(/\s*(?:,|\r?\n)\s*/).map((item) => item.trim());
  return items.length > 1 ? items : [];
}

function ofItem(item: string, named: boolean, level: number): string[] {
  const bare = item.replace(/^(["'])(.*)\1$/, "$2");
  const setting = /^[\w.-]+\s*[=:]\s|^[\w.-]+=/.test(bare) || /\s/.test(bare); // its name says whether it is one (secrets.ts)
  const itself = named || !(setting || looksPlain(bare)) ? [bare] : [];
  return [...itself, ...partsOf(bare, named, level + 1)];
}

/** JSON or a key that was put into Base64, as credentials often are for an environment variable. */
function decodedText(value: string): string | undefined {
  if (value.length < 24 || !/^[A-Za-z0-9+/_\s-]+={0,2}\s*$/.test(value)) return undefined;
  const text = Buffer.from(value, "base64").toString("utf8");
  return /^\s*[[{]["\s]|^-----BEGIN /.test(text) ? text : undefined;
}
