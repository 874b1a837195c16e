// The keys by which a server's entry says that less is offered than the server has: our own `show` and `hide`, and those of other
// hosts' files that mean the same.
//
//   offer-keys-1. A server that any key turns off is left out, also when another key turns it on.
//   offer-keys-2. Every key that names the tools to leave out counts. Of keys that name the tools to offer there is one: of two
//                 different lists nobody could say which one was meant.
//   offer-keys-3. A list names tools. An entry that names a call by its arguments is refused, because it would match no tool.

import { z } from "zod";
import { isObject } from "../../contracts/index.js";

/** Keys that name the only tools that are offered, and whose they are. */
export const SHOW_KEYS = {
  show: "Globs of tool names: only tools that match one of them are offered. Unset: all; an empty list: none.",
  tools: "Key of GitHub's agents, read as `show`.",
  includeTools: "Key of Gemini CLI, read as `show`.",
  enabled_tools: "Key of Codex, read as `show`.",
  enabledTools: "Read as `show`.",
  allowed_tools: "Key of OpenAI's and Anthropic's APIs, read as `show`. It allows no call.",
  allowedTools: "Read as `show`. It allows no call.",
} as const;

/** Keys that name tools that are not offered, and whose they are. */
export const HIDE_KEYS = {
  hide: "Globs of tool names: no tool that matches one of them is offered or can be called, whatever the rules say.",
  excludeTools: "Key of Gemini CLI, read as `hide`.",
  disabled_tools: "Key of Codex, read as `hide`.",
  disabledTools: "Key of Cline, Roo Code and others, read as `hide`.",
  disallowed_tools: "Read as `hide`.",
  disallowedTools: "Read as `hide`.",
} as const;

/** Keys that turn a whole server on or off. */
export const SWITCH_KEYS = {
  disabled: "`true` leaves the server out.",
  enabled: "Key of Codex and others: `false` leaves the server out.",
  isActive: "Key of Cherry Studio: `false` leaves the server out.",
} as const;

type ShowKey = keyof typeof SHOW_KEYS;
type HideKey = keyof typeof HIDE_KEYS;

const names = z.array(z.string().min(1)).optional();
const sameForEach = <K extends string, V>(keys: Readonly<Record<K, string>>, value: V) =>
  Object.fromEntries(Object.keys(keys).map((key) => [key, value])) as Record<K, V>;

/** The shape of all these keys, for the schema of the file. */
export const OFFER_SHAPE = {
  ...sameForEach(SHOW_KEYS, names),
  ...sameForEach(HIDE_KEYS, names),
  ...sameForEach(SWITCH_KEYS, z.boolean().optional()),
};

/** What an entry says of the whole server. Anything but a boolean says nothing here, and is refused by the schema. (offer-keys-1) */
export function switchOf(server: unknown): "off" | "on" | "both" | undefined {
  if (!isObject(server)) return undefined;
  const off = server.disabled === true || server.enabled === false || server.isActive === false;
  const on = server.disabled === false || server.enabled === true || server.isActive === true;
  if (off) return on ? "both" : "off";
  return on ? "on" : undefined;
}

type OfferKeys = { readonly [K in ShowKey | HideKey]?: readonly string[] | undefined };

/** What is left of the keys, or why they cannot be used: the key, the end of a sentence, and a hint. */
export type Offer =
  | { readonly show?: string[]; readonly hide?: string[] }
  | { readonly key: readonly string[]; readonly problem: string; readonly hint: string };

/** What a server's entry says of the tools that are offered. */
export function offerOf(server: OfferKeys): Offer {
  const given = <K extends ShowKey | HideKey>(keys: Readonly<Record<K, string>>) =>
    (Object.keys(keys) as K[]).flatMap((key) => (server[key] === undefined ? [] : [{ key, list: server[key] }]));
  const shown = given(SHOW_KEYS);
  const hidden = given(HIDE_KEYS);
  for (const { key, list } of [...shown, ...hidden]) {
    const at = list.findIndex((text) => /[()]/.test(text)); // offer-keys-3
    if (at === -1) continue;
    const hint = "name tools here; what a call may hold is said in `permissions`";
    return { key: [key, String(at)], problem: "holds a parenthesis: a list of tools takes no argument test", hint };
  }
  const narrowing = shown.filter(({ list }) => !list.includes("*"));
  const [first, second] = narrowing;
  if (first !== undefined && second !== undefined && !sameNames(first.list, second.list)) {
    const problem = `names other tools than \`${first.key}\` does, and each of them names the only tools to offer`; // offer-keys-2
    return { key: [second.key], problem, hint: "keep one of the two" };
  }
  const show = first ?? shown[0];
  return {
    ...(show === undefined ? {} : { show: [...show.list] }),
    ...(hidden.length === 0 ? {} : { hide: [...new Set(hidden.flatMap(({ list }) => list))] }),
  };
}

function sameNames(some: readonly string[], others: readonly string[]): boolean {
  return some.every((name) => others.includes(name)) && others.every((name) => some.includes(name));
}
