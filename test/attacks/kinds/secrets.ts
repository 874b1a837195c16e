// Secrets (G11): a server that quotes a secret of the configuration, whole or in part and in any common spelling, gets it into no
// message, state, question, error or log. Without the wall, the same text is no secret of this configuration.

import { createHash } from "node:crypto";
import type { Random } from "../../simulate/random.js";
import type { Attack, Door } from "../attack.js";
import { ask, type World } from "../world.js";

/** How a configuration names the variable that holds the secret. */
const HELD = ["$", "{ATTACK_SECRET}"].join("");

/** A secret value and the part of it that a server quotes. */
function secret(random: Random): { readonly value: string; readonly part: string } {
  const letters = (length: number) =>
    createHash("sha512").update(String(random.next())).digest("base64url").replaceAll(/[-_]/gu, "x").slice(0, length);
  const whole = letters(24);
  return random.pick([
    () => ({ value: whole, part: whole }),
    () => ({ value: `postgres://app:${whole}@db.example.org/app`, part: whole }),
    () => ({ value: JSON.stringify({ type: "account", private_key: whole }), part: whole }),
    () => ({
      value: `-----BEGIN PRIVATE KEY-----\n${whole}${whole}\n${letters(40)}\n-----END PRIVATE KEY-----`,
      part: `${whole}${whole}`,
    }),
    () => ({ value: `${letters(20)},${whole}`, part: whole }),
  ])();
}

const SPELLINGS: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => text.toUpperCase(),
  (text) => Buffer.from(text).toString("hex"),
  (text) => Buffer.from(text).toString("hex").toUpperCase(),
  (text) => Buffer.from(text).toString("base64").replaceAll("=", ""),
  (text) => encodeURIComponent(text),
  (text) => [...text].map((letter) => `%${letter.charCodeAt(0).toString(16)}`).join(""),
  (text) => [...text].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""),
];

interface Parts {
  readonly value: string;
  readonly quoted: string;
  readonly config: Readonly<Record<string, unknown>>;
}

async function parts(random: Random, world: World, wall: boolean, door: Door): Promise<Parts> {
  const { value, part } = secret(random);
  const quoted = random.pick(SPELLINGS)(part);
  const text = JSON.stringify(`the key is ${quoted}, keep it`);
  const plan = {
    tools: [
      {
        name: "look",
        description: door === "command" || random.chance(0.3) ? `uses ${quoted}` : "Looks.",
        inputSchema: { type: "object" },
      },
    ],
    // A command tells a person why a server could not be used, and what a question is about.
    ...(door === "command" && random.chance(0.5) ? { refuses: `no entry: ${quoted}` } : {}),
    stderr: `starting with ${quoted}\n`,
    ...(door === "http" && random.chance(0.5)
      ? { http: { status: random.pick([400, 500, 503]), body: `no: ${quoted}`, headers: { "x-key": quoted } } }
      : {
          answer: [
            random.pick([
              `{"jsonrpc":"2.0","id":"$ID","result":{"content":[{"type":"text","text":${text}}]}}`,
              `{"jsonrpc":"2.0","id":"$ID","result":{"content":[],"structuredContent":{"key":${text}}}}`,
              `{"jsonrpc":"2.0","id":"$ID","result":{"isError":true,"content":[{"type":"text","text":${text}}]}}`,
              `{"jsonrpc":"2.0","id":"$ID","error":{"code":-32603,"message":${text}}}`,
            ]),
          ],
        }),
  };
  const server = await world.server(door, plan);
  const held = wall
    ? door === "http"
      ? { headers: { Authorization: `Bearer ${HELD}` } }
      : { env: { ...(server.env as object), KEY: HELD } }
    : {};
  return {
    value,
    quoted,
    config: {
      mcpServers: { vault: { ...server, ...held } },
      permissions: { [door === "command" ? "ask" : "allow"]: ["mcp__vault__*"] },
      tools: { mcp__vault__look: { effect: "read" } },
    },
  };
}

const STEPS = [{ calls: [{ name: "mcp__vault__look", args: {} }] }, { say: "Looked." }];
const leaks = (shown: string, quoted: string) =>
  shown.includes(quoted) ? [`\`${quoted.slice(0, 40)}\` was shown`] : [];
// A header's value is one line; the lines of a key are sent as one.
const oneLine = (value: string, door: Door) => (door === "http" ? value.replaceAll("\n", "") : value);

async function inProcess(random: Random, world: World, wall: boolean, door: Door): Promise<readonly string[]> {
  const { value, quoted, config } = await parts(random, world, wall, door);
  process.env.ATTACK_SECRET = oneLine(value, door);
  const shown: unknown[] = [];
  try {
    const file = world.write("toolgate.json", { ...config, store: { kind: "sqlite", path: world.store } });
    const toolgate = await world.host({}, STEPS, { config: file });
    shown.push(await ask(toolgate, "Look.").catch((error: Error) => [error.message, error.stack]));
    for await (const state of toolgate.graph.getStateHistory({ configurable: { thread_id: "t1" } })) shown.push(state);
    shown.push(await toolgate.ledger.operations("t1"), await toolgate.snapshot("t1"), toolgate.findings);
  } finally {
    delete process.env.ATTACK_SECRET;
  }
  // JSON escapes backslashes once more, so that both forms are looked for.
  return leaks(JSON.stringify(shown) + JSON.stringify(shown).replaceAll("\\\\", "\\"), quoted);
}

async function atTheCommand(random: Random, world: World, wall: boolean): Promise<readonly string[]> {
  const { value, quoted, config } = await parts(random, world, wall, "command");
  let shown = "";
  for (const args of [["run", "Look."], ["approvals"], ["check", "--connect"]]) {
    const { stdout, stderr } = await world.command(config, STEPS, args, { ATTACK_SECRET: value });
    shown += stdout + stderr;
  }
  return leaks(shown + shown.replaceAll("\\\\", "\\"), quoted);
}

export const SECRETS: readonly Attack[] = [
  ...(["stdio", "http"] as const).map(
    (door): Attack => ({
      kind: "secrets",
      door,
      strike: (random, world, wall) => inProcess(random, world, wall, door),
    }),
  ),
  { kind: "secrets", door: "command", strike: atTheCommand },
];
