// Seals: what a row's seal and a thread's head are made of, how they are checked, and what is said where they do not hold.
// Whoever changes the store without the host's secret is found out by them before anything is sent.
//
//   sealing-1. A row's seal covers its id, thread, scope, state, outcome, numbers and everything else that is said in it but
//              its lease, and the number of the change that wrote it.
//   sealing-2. A thread's head covers how many rows and proposals the thread has, the sum of the rows' seals, and the number
//              that its last write was given. A row or proposal that was taken out or added is noticed by it, and so is a
//              row that was put back to an earlier state.
//
// When rows and heads are sealed is said in sealing.ts. The sum is one of HMACs, modulo 2^256: nobody without the key can
// find other rows with the same sum.

import { createHmac, createSecretKey, type KeyObject } from "node:crypto";
import {
  actsUntilOf,
  type OperationRow,
  outcomeOf,
  type Proposal,
  sentAtOf,
  sha256,
  ToolgateError,
  threadOfKey,
} from "../contracts/index.js";
import type { Question, SealedFacts, Tables } from "./tables.js";

/** The secrets of the seals: rows are sealed with the first, and may bear a seal of any. */
export interface SealSecrets {
  readonly secret: string;
  readonly previous: readonly string[];
}

/** A thread's head. */
export interface Head {
  /** How many changes of rows the thread has seen. */
  readonly changes: number;
  readonly rows: number;
  readonly proposals: number;
  /** The number of its last write; negative where that is not known. */
  readonly lastSeq: number;
  readonly sum: bigint;
}

export const NO_HEAD: Head = { changes: 0, rows: 0, proposals: 0, lastSeq: 0, sum: 0n };

const MODULUS = 1n << 256n;
/** Seals whose verification is remembered. */
const REMEMBERED = 50_000;

export interface Sealer {
  /** The seal of a row that the thread's change of this number writes. */
  sealRow(row: OperationRow, change: number): string;
  /** Whether the seal that a row bears is that of these facts. */
  holds(facts: SealedFacts): boolean;
  /** Whether the seal that a row bears is that of everything said in it. */
  holdsWhole(row: OperationRow): boolean;
  sealHead(threadId: string, head: Head): string;
  /** The head that this text seals; why there is none otherwise. */
  openHead(threadId: string, text: string): Head | Unsealed;
  /** Whether the seal is one of a key that this host has. */
  knows(seal: string): boolean;
  sealProposal(proposal: Proposal): string;
  holdsProposal(proposal: Proposal): boolean;
}

/** `edited`: it was sealed with a key that this host has, but says something else. */
export type Unsealed = "edited" | "other_secret";

interface Key {
  readonly id: string;
  readonly key: KeyObject;
}

export function sealerOf({ secret, previous }: SealSecrets): Sealer {
  const current = keyOf(secret);
  const keys = new Map([...previous.map(keyOf), current].map((key) => [key.id, key]));
  const held = new Map<string, string>();
  const holds = (facts: SealedFacts): boolean => {
    if (facts.seal === null) return false;
    const text = textOf(facts);
    if (held.get(facts.seal) === text) return true;
    const { change, key: keyId, rest, mac } = parse(facts.seal);
    const key = keys.get(keyId);
    if (key === undefined || macOf(key, [change, rest, text]) !== mac) return false;
    held.set(facts.seal, text);
    if (held.size > REMEMBERED) for (const oldest of held.keys()) if (held.size > REMEMBERED / 2) held.delete(oldest);
    return true;
  };
  return {
    sealRow: (row, change) => {
      const rest = restOf(row);
      const text = textOf(factsOf(row));
      const seal = `${change}.${current.id}.${rest}.${macOf(current, [String(change), rest, text])}`;
      held.set(seal, text);
      return seal;
    },
    holds,
    holdsWhole: (row) => holds(factsOf(row)) && parse(row.seal ?? "").rest === restOf(row),
    sealHead: (threadId, { changes, rows, proposals, lastSeq, sum }) => {
      const said = [changes, rows, proposals, lastSeq, sum.toString(16)].join(".");
      return `${said}.${current.id}.${macOf(current, [threadId, said])}`;
    },
    openHead: (threadId, text) => {
      const [changes, rows, proposals, lastSeq, sum, keyId, mac] = text.split(".");
      if (mac === undefined) return "edited";
      const key = keys.get(keyId ?? "");
      if (key === undefined) return "other_secret";
      if (macOf(key, [threadId, [changes, rows, proposals, lastSeq, sum].join(".")]) !== mac) return "edited";
      const counts = { changes: Number(changes), rows: Number(rows), proposals: Number(proposals) };
      return { ...counts, lastSeq: Number(lastSeq), sum: BigInt(`0x${sum}`) };
    },
    knows: (seal) => keys.has(parse(seal).key),
    sealProposal: (proposal) => `${current.id}.${macOf(current, [proposalText(proposal)])}`,
    holdsProposal: (proposal) => {
      const [keyId = "", mac] = (proposal.seal ?? "").split(".");
      const key = keys.get(keyId);
      return key !== undefined && macOf(key, [proposalText(proposal)]) === mac;
    },
  };
}

function keyOf(secret: string): Key {
  const key = createHmac("sha256", secret).update("toolgate: seals of the ledger").digest();
  return { id: sha256(key.toString("hex")).slice(0, 8), key: createSecretKey(key) };
}

function macOf({ key }: Key, parts: readonly string[]): string {
  return createHmac("sha256", key).update(JSON.stringify(parts)).digest("base64url");
}

function parse(seal: string): { change: string; key: string; rest: string; mac: string } {
  const [change = "", key = "", rest = "", mac = ""] = seal.split(".");
  return { change, key, rest, mac };
}

/** What a seal adds to the sum of its thread. */
function summand(seal: string | null): bigint {
  const { mac } = parse(seal ?? "");
  return mac === "" ? 0n : BigInt(`0x${Buffer.from(mac, "base64url").toString("hex")}`);
}

export const added = (sum: bigint, seal: string): bigint => (sum + summand(seal)) % MODULUS;
export const removed = (sum: bigint, seal: string): bigint => (sum - summand(seal) + MODULUS) % MODULUS;

export function factsOf(row: OperationRow): SealedFacts {
  const { operation, threadId, scope, state, sent, fence, attempt } = row;
  const outcome = outcomeOf(row);
  return {
    id: operation.id,
    argumentsDigest: operation.argumentsDigest,
    effect: operation.effect,
    server: operation.server,
    tool: operation.tool,
    ...{ threadId, scope, state, sent, fence, attempt },
    status: outcome?.status ?? null,
    reason: outcome?.reason ?? null,
    seq: row.seq ?? null,
    seal: row.seal ?? null,
  };
}

function textOf(facts: SealedFacts): string {
  const { id, argumentsDigest, effect, server, tool, threadId, scope, state, status, reason } = facts;
  const { sent, fence, attempt, seq } = facts;
  const call = [id, argumentsDigest, effect, server, tool, threadId, scope];
  return JSON.stringify([...call, state, status, reason, sent, fence, attempt, seq]);
}

/** A digest of whatever else a row says. Its lease is renewed more often than the row is written. */
function restOf(row: OperationRow): string {
  const { proposalId, index, callId, alias, decision, replaces } = row.operation;
  const end = row.state === "settled" ? row : undefined;
  const { status: _, reason: __, ...said } = end?.outcome ?? {};
  const owner = row.state === "proposed" ? undefined : row.owner;
  const text = JSON.stringify([
    ...[proposalId, index, callId, alias, decision, replaces],
    ...[row.operation.arguments, row.turnId, row.toolDigest, row.createdAt, row.asked, sentAtOf(row), actsUntilOf(row)],
    ...(owner ? [owner.machine, owner.pid, owner.started, owner.instance] : [null]),
    ...[end?.settledAt, said, end?.result, end?.resolution, end?.replacedBy],
  ]);
  return sha256(text).slice(0, 32);
}

function proposalText({ proposalId, threadId, scope, turnId, snapshotId, calls }: Proposal): string {
  return JSON.stringify([proposalId, threadId, scope, turnId, snapshotId, calls]);
}

/** What a person is asked, as a digest. */
export function askedOf({ request }: Question): string {
  const { approvalId, operationId, threadId, scope, argumentsDigest, toolDigest, injects, destination } = request;
  const { why, seen, createdAt, expiresAt } = request;
  const about = [approvalId, operationId, threadId, scope, argumentsDigest, toolDigest, injects, destination];
  return sha256(JSON.stringify([...about, why, seen, createdAt, expiresAt])).slice(0, 32);
}

/** Nobody can tell by such a seal whether something was changed. */
export const OTHER_SECRET = "it was sealed with a secret that this host does not have";

/** Why the rows of a thread and its head do not belong together; undefined where they do. (sealing-2) */
export function problemOf(
  sealer: Sealer,
  threadId: string,
  text: string | undefined,
  found: ReturnType<Tables["seals"]>,
) {
  const { rows, proposals } = found;
  if (text === undefined) return rows.length + proposals === 0 ? undefined : "it bears no seal";
  const head = sealer.openHead(threadId, text);
  if (head === "other_secret") return OTHER_SECRET;
  if (head === "edited") return "its head was changed";
  if (rows.some(({ seal }) => seal !== null && !sealer.knows(seal))) return OTHER_SECRET;
  const edited = rows.find((facts) => !sealer.holds(facts));
  if (edited) return `operation \`${edited.id}\` was changed`;
  if (rows.length < head.rows) return `${head.rows - rows.length} of its ${head.rows} operations are missing`;
  if (rows.length > head.rows) return `it has ${rows.length - head.rows} operations too many`;
  if (proposals !== head.proposals)
    return `it has ${proposals} model responses with calls, and ${head.proposals} were recorded`;
  const sum = rows.reduce((total, { seal }) => added(total, seal ?? ""), 0n);
  return sum === head.sum ? undefined : "an operation stands as it stood earlier";
}

/** For a row that does not hold: what keeps this host from believing it. */
export function unbelieved(sealer: Sealer, row: OperationRow): ToolgateError {
  const other = row.seal !== undefined && !sealer.knows(row.seal);
  return tampered(row.threadId, other ? OTHER_SECRET : `operation \`${row.operation.id}\` was changed`);
}

export function tampered(key: string, problem: string): ToolgateError {
  const threadId = threadOfKey(key);
  return new ToolgateError(
    problem === OTHER_SECRET ? "secret_missing" : "store_tampered",
    problem === OTHER_SECRET
      ? `thread \`${threadId}\` cannot be gone on with: ${problem}`
      : `the store's record of thread \`${threadId}\` is not what toolgate wrote: ${problem}; nothing is sent for it`,
    problem === OTHER_SECRET
      ? "add the secret it was sealed with to `approvals.previousSecrets`; if that is lost for good, `toolgate accept --restored --note TEXT` seals every thread anew"
      : `compare the store with a backup, and the servers with what it says; \`toolgate accept ${threadId} --note TEXT\` then seals the thread anew, with what may have been sent as unknown`,
    { data: { threadId } },
  );
}
