// A server for hosts that die: one tool for each kind of effect, and one fault at one place of the first call of it. Raw
// JSON-RPC over stdio (2025-11-25), no SDK: it starts in a moment.
//
//   look     a read                                    put      a write that makes one effect for each operation id
//   append   a write                                   record   a write that `lookup` can be asked about
//   fire     a write that cannot be taken back         lookup   whether an operation was carried out; no effect
//
// Env:
//   SERVER_LOG  the effect log (log.ts); the server's whole memory, shared by the processes that are started for it
//   FAULT       `{ "at": place, "do": "hold" | "die" }`, for the first call that the log shows of anything but `lookup`:
//     accepted   before the effect
//     effect     after it, before the answer
//     half       with half of the answer written
//     answered   with the whole answer written
//   `hold` goes on at SIGUSR2; `die` is SIGKILL to itself.
//
// It ends when stdin ends, whatever it holds. So what the log says of an operation then is final: there is one way in.

import { createInterface } from "node:readline";
import { openLog, operationIdOf, readLog } from "../../../servers/log.js";

const PLACES = ["accepted", "effect", "half", "answered"] as const;
type Place = (typeof PLACES)[number];

type Rpc = { readonly id?: unknown; readonly method?: string; readonly params?: Record<string, unknown> };

const path = process.env.SERVER_LOG ?? "";
const log = openLog(path);
const fault = readFault(process.env.FAULT);
let calls = 0;

const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const id = { type: "object", properties: { operation_id: { type: "string" } }, required: ["operation_id"] };
const TOOLS = [
  { name: "look", description: "Looks at something.", inputSchema: text },
  { name: "put", description: "Puts something, once for each operation.", inputSchema: text },
  { name: "append", description: "Appends something.", inputSchema: text },
  { name: "record", description: "Records something.", inputSchema: text },
  { name: "fire", description: "Does what cannot be taken back.", inputSchema: text },
  { name: "lookup", description: "Tells whether an operation was carried out.", inputSchema: id },
];

function readFault(given: string | undefined): { at: Place; do: "hold" | "die" } | undefined {
  if (given === undefined || given === "") return undefined;
  const fault = JSON.parse(given);
  if (!PLACES.includes(fault.at) || !["hold", "die"].includes(fault.do)) throw new Error(`FAULT is \`${given}\``);
  return fault;
}

/** The fault, if it is for this place. */
async function at(place: Place, here: boolean): Promise<void> {
  if (!here || fault?.at !== place) return;
  if (fault.do === "die") process.kill(process.pid, "SIGKILL");
  await new Promise<void>((resolve) => process.once("SIGUSR2", () => resolve()));
}

const write = (words: string) => new Promise<void>((resolve) => process.stdout.write(words, () => resolve()));
const answer = (id: unknown, result: object) => `${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`;

async function call({ id, params = {} }: Rpc): Promise<void> {
  const n = ++calls;
  const {
    name,
    arguments: args,
    _meta,
  } = params as { name: string; arguments: Record<string, string>; _meta?: object };
  const about = { n, tool: name, arguments: args, ...operationIdOf(_meta) };
  if (name === "lookup") {
    const carriedOut = readLog(path, "effect").some((event) => event.operationId === args["operation_id"]);
    const words = carriedOut ? "It was carried out." : "It was not carried out and will not be.";
    const structuredContent = { data: { carried_out: carriedOut, final: true } };
    return write(answer(id, { content: [{ type: "text", text: words }], structuredContent }));
  }
  const first = readLog(path, "accepted").length === 0;
  log({ event: "accepted", ...about });
  await at("accepted", first);
  const { operationId } = about;
  const made = name === "put" && readLog(path, "effect").some((event) => event.operationId === operationId);
  if (!made) log({ event: "effect", ...about });
  await at("effect", first);
  log({ event: "finished", n, tool: name });
  const words = answer(id, { content: [{ type: "text", text: `${name}: done.` }] });
  const middle = first && fault?.at === "half" ? Math.floor(words.length / 2) : 0;
  await write(words.slice(0, middle));
  await at("half", first);
  await write(words.slice(middle));
  await at("answered", first);
}

async function receive(message: Rpc): Promise<void> {
  const { id, method } = message;
  switch (method) {
    case "initialize": {
      const serverInfo = { name: "faults", version: "1.0.0" };
      return write(answer(id, { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo }));
    }
    case "tools/list":
      return write(answer(id, { tools: TOOLS }));
    case "tools/call":
      return call(message);
    case "ping":
      return write(answer(id, {}));
  }
}

process.stdout.on("error", () => {}); // a client that is gone; the end of stdin ends us
log({ event: "started", pid: process.pid });
createInterface({ input: process.stdin })
  .on("line", (line) => void receive(parsed(line)))
  .on("close", () => process.exit(0));

/** A line that was cut off is no request. */
function parsed(line: string): Rpc {
  try {
    return JSON.parse(line) as Rpc;
  } catch {
    return {};
  }
}
