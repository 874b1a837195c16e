// Reconcile: asks, by the read that the host declared, whether a write with an unknown outcome happened, before a person is
// asked.
//
//   reconcile-1. It is the host's own call: no rule judges it, no budget counts it, no row stands for it. What it found is
//                kept as evidence of the write.
//   reconcile-2. Whatever goes wrong with it says nothing of the write. Only an answer that settles as `ok`, by the same
//                table as every call, is looked at.
//   reconcile-4. It is asked only while its tool's definition is the one of the time of the write. A definition that was changed
//                since may mean something else by the same name; then a person is asked.
//   reconcile-3. The host's secrets are taken out of what it found before it is kept.

import {
  isUnknown,
  type Operation,
  type OperationRow,
  oneLine,
  type Reconcile,
  type ToolEntry,
  type ToolSnapshot,
} from "../contracts/index.js";
import { inputKey } from "../gate/routed-call.js";
import { namesTool, toolSettings } from "../policy/index.js";
import { classify, isToolResult } from "./classify.js";
import type { ExecutionPorts } from "./ports.js";
import { foundIn, readBackArguments } from "./reconcile-facts.js";
import { inspectResult } from "./send.js";

/** What one read-back came to, without who was asked and when. */
interface Answer {
  readonly found: "happened" | "did_not_happen" | "nothing";
  readonly detail: string;
}

const DETAIL_CHARS = 300;

/**
 * Makes the declared read-back of each row whose outcome is unknown. Returns whether the ledger may say more now. Where this process still
 * waits for a late answer, that comes first: it is the better evidence, and until then a "no" may only be early.
 */
export async function readBack(
  ports: ExecutionPorts,
  rows: readonly OperationRow[],
  snapshot: ToolSnapshot | undefined,
  tell: ((event: object) => void) | undefined,
): Promise<boolean> {
  let made = false;
  for (const row of rows) {
    const reconcile = reconcileOf(ports, row);
    if (reconcile === undefined) continue;
    made = true;
    tell?.({
      type: "toolgate.read_back",
      operationId: row.operation.id,
      alias: row.operation.alias,
      tool: reconcile.tool,
    });
    await ports.quiet(row.operation.id);
    const now = await ports.ledger.row(row.operation.id);
    if (now === undefined || !isUnknown(now)) continue;
    const { found, detail } = await ask(ports, row, reconcile, snapshot);
    const told = oneLine(ports.redact(detail), DETAIL_CHARS); // reconcile-3
    await ports.ledger.readBack(row.operation.id, { tool: reconcile.tool, found, detail: told }); // reconcile-1
  }
  return made;
}

function reconcileOf(ports: ExecutionPorts, { operation }: OperationRow): Reconcile | undefined {
  const { alias, server, tool } = operation;
  if (server === null || tool === null) return undefined;
  return toolSettings(ports.settings, { alias, server, tool }).reconcile;
}

async function ask(
  ports: ExecutionPorts,
  { operation }: OperationRow,
  reconcile: Reconcile,
  snapshot: ToolSnapshot | undefined,
): Promise<Answer> {
  const entry =
    entryOf(reconcile.tool, await shownFor(ports, operation)) ??
    entryOf(reconcile.tool, snapshot) ??
    entryOf(reconcile.tool, ports.catalog.latest());
  if (entry === undefined) return nothing("its tool is not among those the servers list");
  const filled = readBackArguments(reconcile.arguments, operation);
  if ("problem" in filled) return nothing(filled.problem);
  const connected = await ports.catalog.connect(entry.server);
  if (!connected.ok) return nothing(`${entry.server} is not available: ${connected.problem}`);

  const moved = await definitionMoved(ports, entry);
  if (moved !== undefined) return nothing(moved);

  const settings = toolSettings(ports.settings, entry);
  const verdict = await ports.checker.check(inputKey(entry), entry.inputSchema, filled.arguments, entry.server);
  if (!verdict.valid && "problems" in verdict) {
    return nothing(`its arguments do not fit the tool's schema: ${verdict.problems.join("; ")}`);
  }
  const call = connected.connection.call({
    tool: entry.tool,
    arguments: filled.arguments,
    meta: {},
    inputSchema: entry.inputSchema,
    deadlineMs: settings.timeoutMs,
    keepListeningMs: 0,
    maxBytes: ports.config.limits.hardResultBytes,
    maySend: () => true,
  });
  const evidence = await call.evidence;
  const result = evidence.response && "result" in evidence.response ? evidence.response.result : undefined;
  const findings = result === undefined ? {} : await inspectResult(ports, entry, result);
  const { errors, contract, outputMismatch } = settings;
  const outcome = classify(evidence, { effect: "read", errors, contract, outputMismatch }, findings);
  if (outcome.status !== "ok" || !isToolResult(result)) return nothing(outcome.message); // reconcile-2
  return { found: foundIn(result["structuredContent"], reconcile), detail: words(result) || outcome.message };
}

/** The tools that the model was shown when it proposed the write. */
async function shownFor(ports: ExecutionPorts, { proposalId }: Operation): Promise<ToolSnapshot | undefined> {
  const proposal = await ports.ledger.proposal(proposalId);
  return proposal && (await ports.catalog.snapshot(proposal.snapshotId));
}

/** Why the tool cannot be relied on to mean what it meant. (reconcile-4) */
async function definitionMoved(
  ports: ExecutionPorts,
  { server, tool, digest }: ToolEntry,
): Promise<string | undefined> {
  const listed = await ports.catalog.verify(server);
  if (!listed.ok) return `it was not asked: ${server} could not be listed again before it: ${listed.problem}`;
  const now = listed.digests.get(tool);
  if (now === digest) return undefined;
  const what = now === undefined ? "no longer lists it" : "has changed its definition";
  return `it was not asked: ${server} ${what} since the write`;
}

function entryOf(tool: string, snapshot: ToolSnapshot | undefined): ToolEntry | undefined {
  return snapshot?.tools.find((entry) => namesTool(tool, entry));
}

/** What the server says in words, for the person who is asked if it settles nothing. */
function words(result: { readonly content?: unknown[] }): string {
  const texts = (result.content ?? []).flatMap((block) => {
    const { type, text } = (block ?? {}) as { type?: unknown; text?: unknown };
    return type === "text" && typeof text === "string" ? [text] : [];
  });
  return texts.join(" ");
}

function nothing(detail: string): Answer {
  return { found: "nothing", detail };
}
