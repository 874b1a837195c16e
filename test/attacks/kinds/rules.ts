// Rules (G3): what a rule denies does not run, however its argument is spelled. A reference of its own reads each value that
// arrived at the server. Without the wall there is no deny.

import { posix } from "node:path";
import type { Random } from "../../simulate/random.js";
import type { Attack } from "../attack.js";
import { ask, type World } from "../world.js";

const FOLDER = "/srv/josé/secrets";
const SCHEMAS = {
  path: { type: "string" },
  paths: { type: "array", items: { type: "string" } },
  url: { type: "string" },
  amount: { type: "number" },
};
const DENY = [
  "mcp__disk__use(path:/srv/josé/secrets/**)",
  "mcp__disk__list(paths:/srv/josé/secrets/**)",
  "mcp__disk__fetch(url:https://*.acme.com/**)",
  "mcp__disk__pay(amount:>100)",
];
const TOOLS = [
  ["use", "path"],
  ["list", "paths"],
  ["fetch", "url"],
  ["pay", "amount"],
].map(([name, key]) => ({
  name,
  inputSchema: { type: "object", properties: { [key as string]: SCHEMAS[key as keyof typeof SCHEMAS] } },
}));

const percent = (text: string, random: Random) =>
  [...text]
    .map((letter) =>
      random.chance(0.2) && letter !== "/"
        ? [...Buffer.from(letter)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("")
        : letter,
    )
    .join("");
const cased = (text: string, random: Random) =>
  [...text].map((letter) => (random.chance(0.3) ? letter.toUpperCase() : letter)).join("");
const WAYS: readonly ((path: string, random: Random) => string)[] = [
  (path) => path.normalize("NFD"),
  (path) => path.normalize("NFC"),
  cased,
  percent,
  (path, random) => percent(percent(path, random), random),
  (path) => ` ${path}`,
  (path) => `${path} `,
  (path) => `${path}/`,
  (path) => path.replaceAll("/", "//"),
  (path) => path.replace("/srv", "/srv/."),
  (path) => path.replace("/srv", "/srv/x/.."),
  (path) => `file://${path}`,
  (path) => `file:${path}`,
  (path) => path.replace("secrets", "ｓecrets"),
  (path, random) => path.replaceAll("/", () => (random.chance(0.3) ? "\\" : "/")),
];

/** A spelling of a file in the denied folder, or of the folder itself. */
function path(random: Random): string {
  let spelled = random.pick([FOLDER, `${FOLDER}/key`, `${FOLDER}/a/b.pem`]);
  for (let count = 1 + random.int(3); count > 0; count -= 1) spelled = random.pick(WAYS)(spelled, random);
  return spelled;
}

function url(random: Random): string {
  const host = random.pick([
    "api.acme.com",
    "API.Acme.COM",
    "api.acme.com.",
    "api.acme.com:443",
    "u:p@api.acme.com",
    "x.y.acme.com",
    "api.ａcme.com",
    "api%2eacme.com",
  ]);
  return random.pick([
    `https://${host}/pay`,
    `HTTPS://${host}/pay`,
    ` https://${host}/pay`,
    `https:/${host}/pay`,
    `https:\\\\${host}\\pay`,
    `https://${host}`,
    `\thttps://${host}/a/../b`,
    `https://${host}?x=/`,
  ]);
}

function call(random: Random) {
  return random.pick([
    () => ({ name: "mcp__disk__use", args: { path: path(random) } }),
    () => ({ name: "mcp__disk__list", args: { paths: ["/srv/open/a", path(random)] } }),
    () => ({ name: "mcp__disk__fetch", args: { url: url(random) } }),
    () => ({ name: "mcp__disk__pay", args: { amount: random.pick([100.01, 101, 1e6, 1e21, 100.000001]) } }),
  ])();
}

async function inRun(random: Random, world: World, wall: boolean): Promise<readonly string[]> {
  const toolgate = await world.host(
    {
      mcpServers: { disk: world.stdio({ tools: TOOLS }) },
      permissions: { allow: ["mcp__disk__*"], deny: wall ? DENY : [], default: "deny" },
    },
    [{ calls: Array.from({ length: 8 }, () => call(random)) }, { say: "Done." }],
  );
  await ask(toolgate, "Do it.");
  return world
    .effects()
    .flatMap(({ tool, arguments: given }) => (isDenied(given) ? [`${tool} ran with ${JSON.stringify(given)}`] : []));
}

async function atTheCommand(random: Random, world: World, wall: boolean): Promise<readonly string[]> {
  const config = {
    mcpServers: { disk: world.stdio({ tools: TOOLS }) },
    permissions: { allow: ["mcp__disk__*"], deny: wall ? DENY : [], default: "deny" },
  };
  await world.command(
    config,
    [{ calls: Array.from({ length: 8 }, () => call(random)) }, { say: "Done." }],
    ["run", "Do it.", "--json"],
  );
  return world
    .effects()
    .flatMap(({ tool, arguments: given }) => (isDenied(given) ? [`${tool} ran with ${JSON.stringify(given)}`] : []));
}

/** Whether what arrived is what the rules deny, read as a careless server might read it. */
function isDenied(given: unknown): boolean {
  const {
    path: one,
    paths = [],
    url: address,
    amount,
  } = given as { path?: string; paths?: string[]; url?: string; amount?: number };
  if (amount !== undefined) return amount > 100;
  if (address !== undefined) return /acme\.com/u.test(plain(address));
  return [...paths, ...(one === undefined ? [] : [one])].some((text) => {
    const read = posix.normalize(
      plain(text)
        .replace(/^file:\/*/u, "/")
        .replaceAll("\\", "/"),
    );
    return `${read}/`.startsWith(`${plain(FOLDER)}/`);
  });
}

function plain(text: string): string {
  let read = text;
  for (let count = 0; count < 4; count += 1) {
    try {
      read = decodeURIComponent(read);
    } catch {
      break;
    }
  }
  return read.normalize("NFKC").toLowerCase().trim();
}

export const RULES: readonly Attack[] = [
  { kind: "rules", door: "graph", strike: inRun },
  { kind: "rules", door: "command", strike: atTheCommand },
];
