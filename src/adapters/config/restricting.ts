// Which keys restrict something, so that a key nobody knows is refused where it may have been meant to.
//
//   restricting-1. A key that toolgate does not know and that may have been meant to restrict is an error, because what it was to
//                  keep out would be let in. Every other unknown key is a warning.
//   restricting-2. A key may restrict when it stands in `permissions`, when the known key nearest to it restricts, when one of its
//                  words says so, or when that holds for a key anywhere in its value.

import { ApprovalSettings, CatalogLimits, isObject, Limits, Permissions } from "../../contracts/index.js";
import { HIDE_KEYS, SHOW_KEYS, SWITCH_KEYS } from "./offer-keys.js";
import type { Path } from "./strict-json.js";

/** Known keys whose loss would let something through. */
const RESTRICTS: ReadonlySet<string> = new Set([
  "permissions",
  ...Object.keys(Permissions.shape),
  ...Object.keys(SHOW_KEYS),
  ...Object.keys(HIDE_KEYS),
  ...Object.keys(SWITCH_KEYS),
  "limits",
  ...Object.keys(Limits.shape),
  ...Object.keys(CatalogLimits.shape),
  "onInvalid",
  "approvals",
  ...Object.keys(ApprovalSettings.shape).filter((key) => !/secret|identity$/i.test(key)),
  "requireIdentity",
  "effect",
  "repeat",
  "verify",
  "outputMismatch",
  "scope",
  "haltScope",
]);

/** Words by which hosts say that something is kept out, let in, or asked about. A word counts by how it begins. */
const STEMS =
  "allow disallow deny denie forbid block black white exclu inclu show disab enab permi restrict filter reject refus approv prohibit confirm sandbox readonly hook guard polic rule limit budget quota activ inactiv".split(
    " ",
  );
/** The same for words that begin like others. */
const WORDS: ReadonlySet<string> = new Set(["hide", "hides", "hidden", "only", "ask", "asks", "off", "ban", "banned"]);
/** A key about tools restricts them, unless it is about one of these. */
const ABOUT_TOOLS: ReadonlySet<string> = new Set(["tool", "tools", "toolset", "toolsets"]);
const NO_RESTRICTION: ReadonlySet<string> = new Set(["timeout", "prefix"]);
/** Keys that let more through when they are heard. Not to hear them is safe. */
const LOOSENS = /^(auto|always)[^a-z]*(allow|approv)/i;

/** Whether an unknown key may have been meant to restrict. `meant`: the known key nearest to it. (restricting-2) */
export function mayRestrict(path: Path, value: unknown, meant: string | undefined): boolean {
  if (path[0] === "permissions") return true;
  return (meant !== undefined && RESTRICTS.has(meant)) || saysSo(String(path.at(-1))) || holdsSuch(value);
}

function saysSo(key: string): boolean {
  if (LOOSENS.test(key)) return false;
  const words = key
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}]+/u);
  const aboutTools = words.some((word) => ABOUT_TOOLS.has(word)) && !words.some((word) => NO_RESTRICTION.has(word));
  return aboutTools || words.some((word) => WORDS.has(word) || STEMS.some((stem) => word.startsWith(stem)));
}

/** Nesting is bounded: the value was expanded before. */
function holdsSuch(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(holdsSuch);
  if (!isObject(value)) return false;
  return Object.entries(value).some(([key, item]) => saysSo(key) || holdsSuch(item));
}
