// Call: one call of a model response, found in the ledger and in the snapshot: which call it is, where it goes, and
// whether its arguments can be used.
//
//   call-1. Arguments are copied when they are digested: streams, callbacks and models hold the message's own objects, and
//           what they change afterwards is neither shown nor sent.
//
// Whether arguments fit a schema depends on nothing but the two, so that the answer is remembered. Where no answer could
// be found out, nothing is remembered, and the next batch asks again.

import {
  canonicalBytes,
  type Destination,
  type Digest,
  digest,
  type JsonObject,
  LOCAL,
  type MessageCall,
  notHashable,
  type Operation,
  type OperationRow,
  operationId,
  type Proposal,
  sha256,
  type ToolEntry,
  type ToolSnapshot,
} from "../contracts/index.js";
import { decide, isHidden, type ToolSettings, toolSettings } from "../policy/index.js";
import type { GatePorts } from "./ports.js";

export interface Located {
  readonly call: MessageCall;
  readonly arguments: JsonObject;
  readonly argumentsDigest: string;
  readonly proposed: boolean;
  readonly edited: boolean;
  readonly replaces: string | undefined;
  readonly invalid: string | undefined;
}

/** Which call this is, by the ledger: the model's own, a person's edit of it (batch-2), or neither (batch-3). */
export function locate(
  call: MessageCall,
  proposal: Proposal | undefined,
  proposalId: string,
  rows: ReadonlyMap<string, OperationRow>,
): Located {
  const unhashable = notHashable(call.arguments);
  const args = unhashable === undefined ? structuredClone(call.arguments) : call.arguments; // call-1
  const argumentsDigest = unhashable === undefined ? digest(args) : sha256(JSON.stringify(args) ?? "");
  const made = proposal?.calls.find(
    (one) => one.index === call.index && one.callId === call.callId && one.alias === call.alias,
  );
  const own = made !== undefined && made.argumentsDigest === argumentsDigest;
  const first = rows.get(operationId(proposalId, call.index, argumentsDigest));
  const sameCall =
    first === undefined || (first.operation.callId === call.callId && first.operation.alias === call.alias);
  const target = sameCall && first?.operation.replaces !== undefined;
  const edit = sameCall ? lastEdit(first, rows) : undefined;
  return {
    call,
    arguments: edit?.operation.arguments ?? args,
    argumentsDigest: edit?.operation.argumentsDigest ?? argumentsDigest,
    proposed: own || target,
    edited: edit !== undefined,
    replaces: (edit ?? (target ? first : undefined))?.operation.replaces,
    invalid: edit === undefined ? (unhashable ?? (own ? made.invalid : undefined)) : undefined,
  };
}

/** The edit that stands in an operation's place, followed to the last; undefined when nobody edited it. */
function lastEdit(row: OperationRow | undefined, rows: ReadonlyMap<string, OperationRow>): OperationRow | undefined {
  const replacedBy = row?.state === "settled" ? row.replacedBy : undefined;
  const next = replacedBy === undefined ? undefined : rows.get(replacedBy);
  return next === undefined ? undefined : (lastEdit(next, rows) ?? next);
}

export interface Routed extends Located {
  readonly operation: Operation;
  readonly entry: ToolEntry | undefined;
  readonly settings: ToolSettings | undefined;
  /** Where it goes and who it is called as; undefined for the host's own tools. */
  readonly destination: Destination | undefined;
}

export function route(ports: GatePorts, one: Located, proposalId: string, snapshot: ToolSnapshot | undefined): Routed {
  const { call } = one;
  const entry = snapshot?.tools.find((tool) => tool.alias === call.alias && !isHidden(ports.settings, tool)); // offered-3
  const settings = entry === undefined ? undefined : toolSettings(ports.settings, entry);
  const operation: Operation = {
    id: operationId(proposalId, call.index, one.argumentsDigest),
    proposalId,
    index: call.index,
    callId: call.callId,
    alias: call.alias,
    server: entry?.server ?? null,
    tool: entry?.tool ?? null,
    arguments: one.arguments,
    argumentsDigest: one.argumentsDigest,
    effect: settings?.effect ?? "write",
    decision: entry === undefined || one.invalid !== undefined ? null : decide(ports.policy, entry, one.arguments),
    ...(one.replaces === undefined ? {} : { replaces: one.replaces }),
  };
  const toServer = entry !== undefined && entry.server !== LOCAL;
  const destination = toServer ? ports.destinationOf(entry.server) : undefined;
  return { ...one, operation, entry, settings, destination };
}

/** Names of what the host fills in at the send, as they are approved. */
export function injectsOf({ settings }: { readonly settings: ToolSettings | undefined }): { injects?: string[] } {
  const names = Object.keys(settings?.inject ?? {}).sort();
  return names.length === 0 ? {} : { injects: names };
}

type Arguments = Pick<Located, "arguments" | "argumentsDigest">;
type Checked = Arguments & Pick<Routed, "entry" | "settings" | "invalid">;
type ProblemPorts = Pick<GatePorts, "checker" | "settings"> & { readonly config: Pick<GatePorts["config"], "limits"> };

/** Why the arguments cannot be used: not JSON we can digest, too large, a hidden parameter named, or not what the schema takes. */
export async function argumentProblem(ports: ProblemPorts, one: Checked): Promise<string | undefined> {
  const { entry, settings } = one;
  if (one.invalid !== undefined) return `the arguments cannot be used: ${one.invalid}`;
  if (entry === undefined || settings === undefined) return undefined;
  const { argumentBytes, argumentChars } = ports.config.limits;
  const bytes = canonicalBytes(one.arguments);
  if (bytes > argumentBytes) return `the arguments are ${bytes} bytes long; at most ${argumentBytes} are taken`;
  if (argumentChars !== undefined && longestString(one.arguments) > argumentChars) {
    return `an argument is longer than ${argumentChars} characters`;
  }
  const own = Object.keys(settings.inject ?? {}).find((name) => Object.hasOwn(one.arguments, name));
  if (own !== undefined) return `\`${own}\` is filled in by the host; leave it out`;
  return schemaProblem(ports, entry, one);
}

/** Verdicts of schemas on arguments, by definition and digest of the arguments. An entry's verdicts go with the entry. */
const verdicts = new WeakMap<ToolEntry, Map<Digest, Promise<string | undefined>>>();
/** Verdicts that are remembered for one definition. */
const VERDICTS_KEPT = 64;

function schemaProblem(
  ports: Pick<GatePorts, "checker">,
  entry: ToolEntry,
  one: Arguments,
): Promise<string | undefined> {
  const known = verdicts.get(entry) ?? new Map<Digest, Promise<string | undefined>>();
  verdicts.set(entry, known);
  const before = known.get(one.argumentsDigest);
  if (before !== undefined) return before;
  const verdict = ports.checker
    .check(inputKey(entry), entry.inputSchema, one.arguments, entry.server)
    .then((checked) => {
      if (checked.valid) return undefined;
      if ("problems" in checked) return `the arguments do not fit the tool's schema: ${checked.problems.join("; ")}`;
      known.delete(one.argumentsDigest);
      return `the arguments could not be checked: ${checked.unusable}`;
    });
  known.set(one.argumentsDigest, verdict);
  if (known.size > VERDICTS_KEPT) known.delete(known.keys().next().value as Digest);
  return verdict;
}

/** Calls of one response whose arguments are checked ahead. */
const AHEAD = 16;

/**
 * Begins to check the arguments of a response's calls, so that the verdicts are there when the batch is judged. What is
 * judged then is looked up by its own digest (call-1).
 */
export function checkAhead(
  ports: ProblemPorts,
  { tools }: ToolSnapshot,
  calls: readonly { readonly name: string; readonly args: JsonObject }[],
): void {
  if (calls.length > AHEAD) return; // the copies and digests of so many take longer than what is won
  for (const { name, args } of calls) {
    const entry = tools.find(({ alias }) => alias === name);
    if (entry === undefined || notHashable(args) !== undefined) continue;
    const own = structuredClone(args);
    const one = { entry, settings: toolSettings(ports.settings, entry), arguments: own, argumentsDigest: digest(own) };
    argumentProblem(ports, { ...one, invalid: undefined }).catch(() => undefined); // whoever judges it is told
  }
}

/** Cache key of a schema: the model-facing one differs from the server's by what is injected, so its own content is the key. */
export function inputKey(entry: ToolEntry): string {
  const known = keys.get(entry);
  if (known !== undefined) return known;
  const { server, digest: definition, inputSchema } = entry;
  const key = server === LOCAL ? digest(inputSchema) : sha256(`${definition} input ${JSON.stringify(inputSchema)}`);
  keys.set(entry, key);
  return key;
}

const keys = new WeakMap<ToolEntry, string>();

function longestString(value: unknown): number {
  let longest = 0;
  const pending = [value];
  while (pending.length > 0) {
    const item = pending.pop();
    if (typeof item === "string") longest = Math.max(longest, [...item].length);
    else if (typeof item === "object" && item !== null) pending.push(...Object.values(item));
  }
  return longest;
}
