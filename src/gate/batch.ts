// Batch: the calls of one model response, each with what the host's own stores know of it, judged.
//
//   batch-1. Route, definition, effect, decision and verdict come from the ledger, the snapshot store and the
//            configuration, read now; the conversation contributes only which calls are looked at (G9).
//   batch-2. A call that a person edited is, from then on, the edited call: in whatever message it is met.
//   batch-3. A response whose proposal the ledger does not hold for this thread has unproposed calls: they are asked about,
//            never allowed.
//   batch-4. What is new or changed of a tool since its server's tools were accepted makes an ask of an allow, by the lock and
//            by the first list in the host's own store.
//   batch-5. What the host's `decide` made stricter once stays so: a question that it asked needs its answer also where the
//            process that asked is gone.

import { sealed } from "../approval/index.js";
import {
  type Destination,
  type Digest,
  isBuiltIn,
  isRetriable,
  type JsonObject,
  type MessageCall,
  nearest,
  type Operation,
  type OperationRow,
  type Proposal,
  sameDestination,
  sameInjects,
  sha256,
  type ToolEntry,
  type ToolSnapshot,
  threadOfKey,
  type Verdict,
} from "../contracts/index.js";
import type { Asked, Look, LookPlan, LookQuery, Standing } from "../ledger/port.js";
import { allowedByName, type CallFacts, type Judgement, judge, type ToolSettings, tightened } from "../policy/index.js";
import type { HostAsked } from "./host-decision.js";
import { UNAUTHENTICATED } from "./identity.js";
import type { GatePorts } from "./ports.js";
import { argumentProblem, injectsOf, locate, type Routed, route } from "./routed-call.js";

/** Where a run is: its thread, by the key, and its scope. */
export interface RunPlace {
  readonly threadId: string;
  readonly scope: string;
  /** Whom `identify` names in the run; looked up only where the host has a `decide`. */
  readonly identity?: string;
}

/** One model response as a conversation shows it. None of it is believed (batch-1). */
export interface ResponseShown extends RunPlace {
  readonly messageId: string | undefined;
  readonly calls: readonly MessageCall[];
  /** What the message says of itself. */
  readonly proposalId: string | undefined;
  readonly snapshotId: Digest | undefined;
  /** Id of the user message before it. */
  readonly turnId: string;
  /** The highest number of a write that this branch of the thread has seen. */
  readonly ledgerSeq: number;
}

/** One call with everything known of it. */
export interface BatchCall {
  readonly call: MessageCall;
  readonly operation: Operation;
  readonly entry: ToolEntry | undefined;
  readonly settings: ToolSettings | undefined;
  readonly destination: Destination | undefined;
  readonly asked: Asked | undefined;
  /** The stored verdict, when it is a yes that verifies. */
  readonly yes: Verdict | undefined;
  readonly judgement: Judgement;
}

export interface Batch extends RunPlace {
  readonly turnId: string;
  readonly proposalId: string;
  readonly snapshot: ToolSnapshot | undefined;
  readonly calls: readonly BatchCall[];
  readonly rows: ReadonlyMap<Digest, OperationRow>;
  readonly standing: Standing;
  /** The thread has operations in `dispatching` whose owner is gone: the ledger's `sweep` settles them. */
  readonly abandoned: boolean;
  /** Arguments that differ from the message's because a person edited them, by index. */
  readonly edited: ReadonlyMap<number, JsonObject>;
}

/** Looks up the calls of a response and judges them as one batch. `host`: whether the host's `decide` is asked for it. */
export async function judgeResponse(
  ports: GatePorts,
  response: ResponseShown,
  host: HostAsked = "never",
): Promise<Batch> {
  const found = await lookUp(ports, response);
  const { plan, look, snapshot, foreign } = found;
  const asked = new Map(look.asked.map((one) => [one.request.operationId, one]));
  const rows = new Map(look.rows.map((row) => [row.operation.id, row]));
  const known = await Promise.all(
    plan.routed.map((one) =>
      factsOf(ports, one, {
        scope: response.scope,
        row: rows.get(one.operation.id),
        asked: asked.get(one.operation.id),
        foreign,
        snapshot,
      }),
    ),
  );
  await Promise.all(known.map((one) => tighten(ports, response, one, host)));
  const { limits, haltScope } = ports.config;
  const facts = known.map((one) => one.facts);
  const judgements = judge(facts, look.standing, limits, haltScope);
  const calls = known.map(({ one, question, yes }, index): BatchCall => {
    const judgement = judgements[index] as Judgement;
    const { call, entry, settings, destination } = one;
    return { call, operation: judgement.operation, entry, settings, destination, asked: question, yes, judgement };
  });
  return {
    threadId: response.threadId,
    scope: response.scope,
    turnId: plan.turnId,
    proposalId: plan.proposalId,
    snapshot,
    calls,
    rows,
    standing: look.standing,
    abandoned: look.abandoned,
    edited: new Map(plan.routed.flatMap((one) => (one.edited ? [[one.call.index, one.arguments] as const] : []))),
  };
}

interface Plan extends LookPlan {
  readonly proposalId: string;
  readonly routed: readonly Routed[];
}

interface Found {
  readonly plan: Plan;
  readonly look: Look;
  readonly snapshot: ToolSnapshot | undefined;
  /** The proposal that the message names belongs to another thread or scope. */
  readonly foreign: boolean;
}

/** What the ledger knows of the response: in one read where the message tells the truth about itself. */
async function lookUp(ports: GatePorts, response: ResponseShown): Promise<Found> {
  const snapshotOf = async (id: Digest | undefined) => (id === undefined ? undefined : ports.catalog.snapshot(id));
  const shown = await snapshotOf(response.snapshotId);
  let foreign = false;
  if (response.proposalId !== undefined) {
    const first = await lookAt(ports, response, response.proposalId, shown);
    const { proposal } = first.look;
    foreign = proposal !== undefined && !isOwn(response, proposal);
    if (proposal !== undefined && !foreign) {
      if (proposal.snapshotId === response.snapshotId) return { ...first, snapshot: shown, foreign };
      const snapshot = await snapshotOf(proposal.snapshotId);
      return { ...(await lookAt(ports, response, response.proposalId, snapshot)), snapshot, foreign };
    }
  }
  const { threadId, messageId, proposalId } = response;
  const unproposed = `unproposed-${sha256(JSON.stringify([threadId, messageId, proposalId]))}`; // batch-3
  return { ...(await lookAt(ports, response, unproposed, shown)), snapshot: shown, foreign };
}

function isOwn({ threadId, scope }: ResponseShown, proposal: Proposal): boolean {
  return proposal.threadId === threadId && proposal.scope === scope;
}

async function lookAt(
  ports: GatePorts,
  response: ResponseShown,
  proposalId: string,
  snapshot: ToolSnapshot | undefined,
): Promise<{ readonly plan: Plan; readonly look: Look }> {
  const { threadId, scope, ledgerSeq } = response;
  const { haltScope } = ports.config;
  const query: LookQuery = { threadId, scope, proposalId, ledgerSeq, haltScope };
  const planFrom = (proposal: Proposal | undefined, rows: readonly OperationRow[]): Plan => {
    const byId = new Map(rows.map((row) => [row.operation.id, row]));
    const own = proposal !== undefined && isOwn(response, proposal) ? proposal : undefined;
    const routed = response.calls.map((call) =>
      route(ports, locate(call, own, proposalId, byId), proposalId, snapshot),
    );
    return {
      proposalId,
      routed,
      turnId: own?.turnId ?? response.turnId,
      operationIds: routed.map(({ operation }) => operation.id),
      writes: routed.flatMap(({ operation: { id, server, tool, argumentsDigest, effect } }) =>
        effect === "write" && server !== null && tool !== null
          ? [{ operationId: id, server, tool, argumentsDigest }]
          : [],
      ),
    };
  };
  return ports.ledger.look(query, planFrom);
}

interface Known {
  readonly scope: string;
  readonly row: OperationRow | undefined;
  readonly asked: Asked | undefined;
  readonly foreign: boolean;
  readonly snapshot: ToolSnapshot | undefined;
}

interface FactsOf {
  readonly one: Routed;
  readonly question: Asked | undefined;
  readonly yes: Verdict | undefined;
  facts: CallFacts;
}

async function factsOf(
  ports: GatePorts,
  one: Routed,
  { scope, row, asked: question, foreign, snapshot }: Known,
): Promise<FactsOf> {
  const verdict = question?.verdict;
  const holds = verdict !== undefined && sealed(verdict, ports.secret);
  const goesThere = [question?.request.destination?.digest, verdict?.destination].every((digest) =>
    sameDestination(digest, one.destination?.digest),
  );
  const covers = holds && goesThere && sameInjects(verdict.injects, injectsOf(one).injects);
  const yes = covers && verdict.type === "approve" ? verdict : undefined;
  const invalid = isOver(row, one.operation) ? one.invalid : await argumentProblem(ports, one);
  const facts: CallFacts = {
    ...(await withNews(ports, scope, one)),
    proposed: one.proposed,
    foreign,
    ...(one.entry === undefined
      ? { unknown: { near: nearest(one.call.alias, snapshot?.tools.map((tool) => tool.alias) ?? []) } }
      : {}),
    ...(invalid === undefined ? {} : { invalid }),
    builtIn: isBuiltIn(one.operation),
    repeat: one.settings?.repeat ?? "ask",
    ...(row === undefined ? {} : { row }),
    ...(question === undefined
      ? {}
      : { question: { seen: question.request.seen, approved: yes !== undefined, expired: question.expired } }),
  };
  return { one, facts, question, yes };
}

/** Puts a call that the rules allow or ask about to the host's `decide`, where there is one. */
async function tighten(ports: GatePorts, response: ResponseShown, known: FactsOf, host: HostAsked): Promise<void> {
  const { facts, question, one } = known;
  const { decision, effect } = facts.operation;
  if (ports.hostDecision === undefined || decision === null || one.entry === undefined) return;
  if (decision.kind === "deny" || facts.invalid !== undefined || facts.foreign) return;
  if (isOver(facts.row, facts.operation)) return;
  const { alias, server, tool } = one.entry;
  const { scope, identity = UNAUTHENTICATED } = response;
  const threadId = threadOfKey(response.threadId);
  const call = { alias, server, tool, arguments: one.arguments, effect, decision, threadId, scope, identity };
  const said = await ports.hostDecision.of(facts.operation.id, call, host);
  const wasAsked = said.kind === "allow" && question !== undefined; // batch-5
  const reason = "it was asked about before, and the host's `decide` only tightens";
  known.facts = {
    ...facts,
    operation: { ...facts.operation, decision: wasAsked ? { kind: "ask", rules: said.rules, reason } : said },
  };
}

/** The call with the decision that what is new of its tool leaves of policy's. (batch-4) */
async function withNews(ports: GatePorts, scope: string, { operation, entry }: Routed) {
  const { decision } = operation;
  if (entry === undefined || decision === null || decision.kind === "deny") return { operation };
  const news = await ports.accepted.newsOf(scope, entry);
  const named = allowedByName(ports.policy, entry, operation.arguments);
  const left = tightened(decision, news, named);
  return news === undefined || left === decision
    ? { operation }
    : { operation: { ...operation, decision: left }, news: news.text };
}

/** Whether nothing will be done for it any more: what its arguments are worth is then beside the point. */
function isOver(row: OperationRow | undefined, { effect }: Operation): boolean {
  if (row?.state !== "settled") return false;
  return !isRetriable(row, effect === "write" || row.operation.effect === "write");
}
