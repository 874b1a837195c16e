// Look-alike: names that a person can take for one another.
//
// It is pure, and linear in the number of names. It is a bounded rule, not the whole table of Unicode (UTS 39): it knows the
// letters of Cyrillic, Greek and full width that look like Latin ones, `0` and `o`, `1`, `I` and `l`.
//
//   look-alike-1. Two different names look alike when they are equal once each letter is replaced by the Latin one that it looks
//                 like, or once case, `_`, `-` and spaces are ignored as well. An equal name is no look-alike.
//   look-alike-2. A name is mixed when one word of it has Latin letters and letters of Cyrillic, Greek, Armenian or Cherokee.

/** Pairs of a letter and the Latin letter it looks like. */
const CONFUSABLE = new Map(
  (
    "аa еe оo рp сc уy хx іi јj ѕs ԛq ԝw һh ԁd ӏl ɡg вb кk мm нh тt АA ВB ЕE КK МM НH ОO РP СC ТT УY ХX ІI ЈJ ЅS ԚQ ԜW ӀI " +
    "αa οo νv ρp υu ιi κk τt χx γy ωw ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX ϲc ϳj ıi օo ոn սu һh"
  )
    .split(" ")
    .map((pair) => [...pair] as [string, string]),
);
const NAME_CHARS = 300;

/** How a name looks: letters of other scripts as Latin ones. */
function looksOf(name: string): string {
  const latin = (text: string) => [...text].map((letter) => CONFUSABLE.get(letter) ?? letter).join("");
  return latin(latin(name.slice(0, NAME_CHARS)).normalize("NFKC")); // twice, because NFKC makes letters that are in the table
}

/** What is equal of two names that look alike as they are written; and without case and separators. (look-alike-1) */
const asWritten = (name: string): string => looksOf(name).replace(/0/g, "O").replace(/[1I|]/g, "l");
const asRead = (name: string): string =>
  looksOf(name)
    .toLowerCase()
    .replace(/[_\-\s]/g, "");

/** Whether a word of the name mixes scripts whose letters look alike. (look-alike-2) */
export function mixesScripts(name: string): boolean {
  const words = name.slice(0, NAME_CHARS).match(/[\p{L}\p{M}]+/gu) ?? [];
  return words.some(
    (word) => /\p{sc=Latn}/u.test(word) && /[\p{sc=Cyrl}\p{sc=Grek}\p{sc=Armn}\p{sc=Cher}]/u.test(word),
  );
}

/** A tool as it is called: by the server's name for it, and by the alias that the model knows. */
export interface NamedTool {
  readonly server: string;
  readonly tool: string;
  readonly alias: string;
}

interface Name {
  /** What it is found by in the result. */
  readonly key: string;
  readonly what: string;
  readonly name: string;
  /** Names that share one of these look alike, when they differ. */
  readonly groups: readonly string[];
}

/**
 * What can be mistaken in the names of servers and tools: the end of a sentence under `serverKey` or `toolKey`. Servers are
 * compared with servers. A tool is compared with the tools of its server, by its alias with all, and as it is written with all.
 */
export function mistakable(servers: readonly string[], tools: readonly NamedTool[]): ReadonlyMap<string, string> {
  const names = [...servers.map(ofServer), ...tools.map(ofTool)];
  const groups = new Map<string, Name[]>();
  for (const name of names)
    for (const group of new Set(name.groups)) {
      const members = groups.get(group) ?? [];
      if (members.length === 0) groups.set(group, members);
      if (members.length < MOST) members.push(name);
    }
  const said = new Map<string, string>();
  for (const { key, name, groups: own } of names) {
    const others = own.flatMap((group) =>
      (groups.get(group) ?? []).filter(
        (other) => other.key !== key && (other.name !== name || group.startsWith("alias")),
      ),
    );
    const like = new Set(others.map(({ what }) => what));
    if (like.size > 0) said.set(key, `has a name that looks like that of ${[...like].slice(0, NAMED).join(", ")}`);
    else if (mixesScripts(name)) said.set(key, "has a name that mixes letters of two scripts in one word");
  }
  return said;
}

/** Of a group of names that look alike, so many are compared, and so many are named. */
const MOST = 20;
const NAMED = 3;

function ofServer(name: string): Name {
  return {
    key: serverKey(name),
    what: `server \`${name}\``,
    name,
    groups: [`server=${asWritten(name)}`, `server~${asRead(name)}`],
  };
}

function ofTool({ server, tool, alias }: NamedTool): Name {
  const own = JSON.stringify(server);
  return {
    key: toolKey(server, tool),
    what: `\`${tool}\` of \`${server}\``,
    name: tool,
    groups: [
      `${own}~${asRead(tool)}`,
      `tool=${asWritten(tool)}`,
      `alias=${asWritten(alias)}`,
      `alias~${asRead(alias)}`,
    ],
  };
}

export const serverKey = (server: string): string => JSON.stringify([server]);
export const toolKey = (server: string, tool: string): string => JSON.stringify([server, tool]);
