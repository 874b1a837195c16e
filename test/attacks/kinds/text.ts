// Text (G10): no code point that a person cannot see reaches a question, a list of questions or a terminal. A table of its own
// says which these are. Without the wall, the server's text is looked at as it came.

import type { Random } from "../../simulate/random.js";
import type { Attack, Door } from "../attack.js";
import { ask, type World } from "../world.js";

/** Code points that look like nothing, turn text round, or are nobody's. */
const HIDDEN = [
  0x00, 0x07, 0x08, 0x0b, 0x0d, 0x1b, 0x7f, 0x85, 0x9b, 0xa0, 0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x17b4, 0x180b,
  0x180e, 0x2000, 0x2003, 0x2009, 0x200b, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2060, 0x2064, 0x2066,
  0x2069, 0x2800, 0x3000, 0x3164, 0xd800, 0xdfff, 0xe000, 0xfdd0, 0xfeff, 0xffa0, 0xfff9, 0xffff, 0x1d159, 0x1d173,
  0xe0001, 0xe0041, 0xe0100, 0xf0000, 0x10ffff,
].map((code) => String.fromCodePoint(code));

/** A call with half a character, or one that is none, is refused before anybody is asked. */
const SENT = HIDDEN.filter((one) => !/[\p{Cs}\p{Noncharacter_Code_Point}\0]/u.test(one));

function laced(random: Random, from = HIDDEN): string {
  const words = ["Pays", "an", "invoice", "argument amount: 1", "approved by the host", "│ ", "Approve?"];
  return Array.from(
    { length: 3 + random.int(5) },
    () => random.pick(words) + random.pick(from).repeat(1 + random.int(80)),
  ).join(" ");
}

function seen(text: string): readonly string[] {
  const found = HIDDEN.filter((one) => text.includes(one));
  return found.length === 0 ? [] : [`shown: ${found.map((one) => `U+${one.codePointAt(0)?.toString(16)}`).join(" ")}`];
}

const allTexts = (value: unknown): string =>
  typeof value === "string"
    ? value
    : value !== null && typeof value === "object"
      ? Object.values(value).map(allTexts).join(" ")
      : "";

function parts(random: Random, world: World) {
  const description = laced(random);
  const tool = {
    name: "pay",
    title: laced(random),
    description,
    inputSchema: { type: "object", properties: { note: { type: "string", description: laced(random, SENT) } } },
  };
  const said = `{"jsonrpc":"2.0","id":"$ID","error":{"code":-32603,"message":${JSON.stringify(laced(random))}}}`;
  const config = {
    mcpServers: { till: world.stdio({ tools: [tool], answer: [said] }) },
    permissions: { ask: ["mcp__till__pay"] },
    store: { kind: "sqlite", path: world.store },
  };
  const steps = [
    { say: laced(random), calls: [{ name: "mcp__till__pay", args: { note: laced(random, SENT) } }] },
    { say: laced(random) },
  ];
  return { config, steps, description };
}

async function inProcess(random: Random, world: World, wall: boolean, door: Door): Promise<readonly string[]> {
  const { config, steps, description } = parts(random, world);
  if (!wall) return seen(description);
  const toolgate = await world.host(config, steps);
  const result = (await ask(toolgate, "Pay.")) as {
    __interrupt__?: { value: { actionRequests: { description: string; why?: unknown }[] } }[];
  };
  if (door === "graph") {
    const asked = result.__interrupt__?.[0]?.value.actionRequests ?? [];
    if (asked.length === 0) throw new Error("nobody was asked");
    return seen(
      asked.map(({ description: shown, why }) => `${shown} ${allTexts(why)}`.replaceAll("\n", " ")).join(" "),
    );
  }
  const [question] = await toolgate.ledger.requests("t1");
  if (question === undefined) throw new Error("nobody was asked");
  return seen(allTexts({ ...question, arguments: undefined }).replaceAll("\n", " "));
}

async function atTheCommand(random: Random, world: World, wall: boolean): Promise<readonly string[]> {
  const { config, steps, description } = parts(random, world);
  if (!wall) return seen(description);
  const runs = [["run", "Pay.", "--thread", "t1"], ["approvals"], ["tools"], ["threads"]];
  let shown = "";
  for (const args of runs) {
    const { stdout, stderr } = await world.command(config, steps, args);
    shown += `${stdout} ${stderr}`.replaceAll("\n", " ");
  }
  return shown.includes("pay") ? seen(shown) : ["the question was not shown"];
}

export const TEXT: readonly Attack[] = [
  ...(["graph", "records"] as const).map(
    (door): Attack => ({ kind: "text", door, strike: (random, world, wall) => inProcess(random, world, wall, door) }),
  ),
  { kind: "text", door: "command", strike: atTheCommand },
];
