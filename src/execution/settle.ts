// Settle: what was seen of a call becomes an outcome, and both body and outcome are stored.
//
//   settle-call-1. The body is stored before its row settles.
//   settle-call-2. What is judged is what the server said. Only afterwards are the host's secrets taken out and the words
//                  bounded, before anything stores them: state, model and people read what is stored.
//   settle-call-3. An answer after the deadline is evidence: the process that sent stores it with the row.
//   settle-call-4. An outcome that the store does not take is kept in memory and offered again for half a minute. The call
//                  is never sent again to find it out.

import {
  type Call,
  type CallEvidence,
  type Operation,
  type Outcome,
  type ResultRef,
  ToolgateError,
} from "../contracts/index.js";
import type { Settlement } from "../ledger/port.js";
import { head, redactBody, toBody } from "../observation/index.js";
import { classify } from "./classify.js";
import type { ExecutionPorts } from "./ports.js";
import type { Dispatch } from "./send.js";

/** Milliseconds between two tries to store an outcome. */
const RETRY_MS = 250;
/**
 * Milliseconds after which no more try is begun. The lease ends sooner where it cannot be renewed: another host may then
 * have taken the operation over, and its outcome stays unknown.
 */
const INSIST_MS = 30_000;
/** Bytes of a server's words in an outcome; the whole answer is in the result store. */
const MESSAGE_BYTES = 2_000;

/** What sending and settling need of the host. */
export type SettlePorts = Pick<ExecutionPorts, "after" | "background" | "results" | "redact" | "steady"> & {
  readonly config: Pick<ExecutionPorts["config"], "lateAnswerMs" | "leaseMs" | "limits">;
  readonly ledger: Pick<ExecutionPorts["ledger"], "begin" | "settle" | "settleLate">;
};

/** An outcome with the body that the answer left, if it left one. */
export interface Settled {
  readonly outcome: Outcome;
  readonly result?: ResultRef;
}

/** Where a call is sent, and the steady reading from which its time is counted. */
export interface Sending {
  readonly threadId: string;
  readonly since: number;
}

/** Stores what a call came to. Throws `already_running` when another host took the operation over. */
export async function settle(
  ports: SettlePorts,
  dispatch: Dispatch,
  evidence: CallEvidence,
  { threadId, since }: Sending,
): Promise<Settled> {
  const tookMs = Math.round(ports.steady() - since);
  const insist = insistence(ports);
  const settled = await understand(ports, dispatch, evidence, threadId, insist);
  const listens = evidence.how === "deadline" ? { listensMs: listensMs(ports) } : {};
  await storeOutcome(ports, dispatch, { ...settled, sent: wasSent(evidence), tookMs, ...listens }, insist);
  return settled;
}

/** Waits for an answer after the deadline and stores it as evidence. (settle-call-3) */
export async function listen(ports: SettlePorts, dispatch: Dispatch, call: Call, threadId: string): Promise<void> {
  const evidence = await call.late;
  if (evidence?.response === undefined) return;
  const insist = insistence(ports);
  const { outcome, ...rest } = await understand(ports, dispatch, evidence, threadId, insist);
  const late = { attempted: true, how: evidence.how, ...outcome.evidence, late: true };
  const { operation, fence } = dispatch;
  const settlement = { operationId: operation.id, fence, outcome: { ...outcome, evidence: late }, sent: true, ...rest };
  await insist(() => ports.ledger.settleLate(settlement));
}

/** Whether a send was attempted that may have reached somebody. */
function wasSent({ attempted, refused }: CallEvidence): boolean {
  return attempted && !refused;
}

/** Settles the row of a claimed operation. Throws `already_running` when the claim is another's by now. */
export async function storeOutcome(
  ports: SettlePorts,
  { operation, fence }: Dispatch,
  settlement: Omit<Settlement, "operationId" | "fence">,
  insist = insistence(ports),
): Promise<void> {
  const stored = await insist(() => ports.ledger.settle({ operationId: operation.id, fence, ...settlement }));
  if (!stored) throw operationTakenOver(operation);
}

/** What the evidence means; the body is stored with it. (settle-call-1, settle-call-2) */
async function understand(
  ports: SettlePorts,
  dispatch: Dispatch,
  evidence: CallEvidence,
  threadId: string,
  insist: Insist,
): Promise<Settled> {
  const { response } = evidence;
  const arrived = response !== undefined && "result" in response && !evidence.tooLarge ? response : undefined;
  const findings = arrived ? await dispatch.inspect(arrived.result) : {};
  const judged = classify(evidence, dispatch.terms, findings);
  const outcome = { ...judged, message: head(ports.redact(judged.message), MESSAGE_BYTES) }; // a cut could hide half a secret
  if (!arrived || outcome.reason === "too_large" || outcome.reason === "malformed") return { outcome };
  const body = redactBody(toBody(arrived.result), ports.redact);
  return { outcome, result: await insist(() => ports.results.put(threadId, body)) };
}

type Insist = <T>(write: () => Promise<T>) => Promise<T>;

/** Tries again what the store refuses for the moment: nobody else knows what is to be written. (settle-call-4) */
function insistence({ steady, after }: SettlePorts): Insist {
  const until = steady() + INSIST_MS;
  return async (write) => {
    for (;;) {
      try {
        return await write();
      } catch (error) {
        if (!isStoreFailure(error) || steady() + RETRY_MS > until) throw error;
        await after(RETRY_MS).elapsed;
      }
    }
  };
}

/** Milliseconds after its deadline within which an answer to a call may still be heard and recorded. */
function listensMs({ config }: SettlePorts): number {
  return config.lateAnswerMs + config.leaseMs;
}

export function isStoreFailure(error: unknown): error is ToolgateError {
  return error instanceof ToolgateError && error.code === "store_failed";
}

/** Another host took over: nothing more is sent or stored for this operation. */
export function operationTakenOver({ alias }: Operation): ToolgateError {
  return new ToolgateError(
    "already_running",
    `another host took \`${alias}\` over`,
    "run the thread again to see what it came to",
  );
}
