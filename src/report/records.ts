// Records: the ledger as a host sees it. Questions can be answered and unknown outcomes settled here, outside any run; the
// thread goes on when it is run again.
//
//   records-scope-1. Records of another scope do not exist here. The scope is the configuration's, or the one that a host
//                    names which speaks for somebody.
//   records-scope-2. Threads are shown by their ids, never by their keys.

import type { PersonAnswer } from "../approval/index.js";
import { readAnswer } from "../approval/index.js";
import {
  type ApprovalItem,
  type Config,
  checkedScope,
  checkedThreadId,
  isRecordOf,
  noThread,
  type OperationItem,
  placesOf,
  type ResolutionType,
  type SettledRow,
  ToolgateError,
  takenOver,
  threadOfKey,
  type UnknownItem,
} from "../contracts/index.js";
import { identified } from "../gate/identity.js";
import {
  type OpenQuestion,
  openQuestions,
  type ShownCall,
  type ShownCalls,
  storeAnswers,
  unheard,
} from "../gate/verdicts.js";
import { toApprovalItem, toOperationItem, toUnknownItem } from "./items.js";
import type { ReportPorts } from "./ports.js";

/** In whose name a host asks. */
export interface InScope {
  /** For a host that serves more than one scope. @default the configuration's `scope` */
  readonly scope?: string;
}

/** What the ledger holds of one scope. Every method throws `config_invalid` for a scope that cannot be used. */
export interface Records {
  /** Every operation of a thread, oldest first. */
  operations(threadId: string, options?: InScope): Promise<OperationItem[]>;
  /** Open questions, of one thread or of all. */
  requests(threadId?: string, options?: InScope): Promise<(ApprovalItem & { threadId: string })[]>;
  /** Writes whose outcome is unknown, of one thread or of all. */
  unknowns(threadId?: string, options?: InScope): Promise<(UnknownItem & { threadId: string })[]>;
  /**
   * Answers one question. Does not resume the thread.
   * Throws `not_found`, `already_decided` (also when it expired) and `invalid_answer`.
   */
  answer(
    approvalId: string,
    answer: PersonAnswer,
    options?: { readonly approver?: string } & InScope,
  ): Promise<{ threadId: string; operationId: string }>;
  /**
   * Records what became of a write with an unknown outcome. Does not resume the thread.
   * Throws `not_found`, `already_settled`, `invalid_answer` (nobody is identified, and the host requires it) and, for `did_not_happen` while the sender may still send it or get its answer, `owner_alive`.
   */
  resolve(
    operationId: string,
    type: ResolutionType,
    options?: { readonly note?: string; readonly by?: string } & InScope,
  ): Promise<{ threadId: string }>;
  /**
   * Seals a thread anew that was found changed (`store_tampered`) and looked through. What may have been sent is unknown
   * from then on. Throws `not_found`, `already_running` and `invalid_answer`.
   */
  accept(threadId: string, said: Said): Promise<{ threadId: string; unknowns: UnknownItem[] }>;
  /** The same for every thread of a store that was set back, whatever its scope. Throws `already_running` and `invalid_answer`. */
  acceptRestored(said: Said): Promise<{ unknowns: (UnknownItem & { threadId: string })[] }>;
  /** Threads the ledger knows, latest activity first. */
  threads(options?: InScope): Promise<{ threadId: string; status: "done" | "awaiting_approval" | "result_unknown" }[]>;
}

/** Who says so, and how they know. */
export interface Said extends InScope {
  readonly note: string;
  readonly by?: string;
}

export function recordsOf(ports: ReportPorts, shownCalls: ShownCalls): Records {
  const scopeIn = (options: InScope) => scopeNamed(ports, options);
  return {
    async operations(threadId, options = {}) {
      const scope = scopeIn(options);
      const places = placesOf(scope, checkedThreadId(threadId));
      const rows = await Promise.all(places.map((key) => ports.ledger.operations(key)));
      return rows
        .flat()
        .filter(isRecordOf(scope))
        .map((row) => toOperationItem(row, false));
    },
    async requests(threadId, options = {}) {
      const scope = scopeIn(options);
      if (threadId !== undefined) checkedThreadId(threadId);
      const open = await openQuestions(ports, shownCalls, scope, threadId);
      return open.map(({ asked, row }) => ({ ...toApprovalItem(asked, row), threadId: threadOfKey(row.threadId) }));
    },
    async unknowns(threadId, options = {}) {
      const scope = scopeIn(options);
      const rows = await unknownsOf(ports, scope, threadId === undefined ? undefined : checkedThreadId(threadId));
      return rows.map((row) => ({ ...toUnknownItem(row), threadId: threadOfKey(row.threadId) }));
    },
    answer: async (approvalId, answer, options = {}) => {
      const who = { approver: identified(options.approver), scope: scopeIn(options) };
      return answerOne(ports, shownCalls, approvalId, answer, who);
    },
    resolve: async (operationId, type, options = {}) =>
      resolveOne(ports, operationId, type, { ...options, scope: scopeIn(options) }),
    accept: async (threadId, said) => acceptThread(ports, checkedThreadId(threadId), said, scopeIn(said)),
    async acceptRestored({ note, by }) {
      const who = identified(by);
      mustBeHeard(ports, who);
      const unknown = await ports.ledger.acceptRestored({ by: who, note });
      return { unknowns: unknown.map((row) => ({ ...toUnknownItem(row), threadId: threadOfKey(row.threadId) })) };
    },
    async threads(options = {}) {
      const scope = scopeIn(options);
      const [threads, open, unknown] = await Promise.all([
        ports.ledger.threads(),
        openQuestions(ports, shownCalls, scope),
        unknownsOf(ports, scope, undefined),
      ]);
      const asked = new Set(open.map(({ row }) => threadOfKey(row.threadId)));
      const inDoubt = new Set(unknown.map((row) => threadOfKey(row.threadId)));
      const own = new Set(threads.filter(isRecordOf(scope)).map(({ threadId }) => threadOfKey(threadId)));
      return [...own].map((threadId) => ({
        threadId,
        status: inDoubt.has(threadId) ? "result_unknown" : asked.has(threadId) ? "awaiting_approval" : "done",
      }));
    },
  };
}

/** Writes of a scope whose outcome is unknown, of one thread or of all. */
export async function unknownsOf(
  { ledger }: Pick<ReportPorts, "ledger">,
  scope: string,
  threadId: string | undefined,
): Promise<SettledRow[]> {
  const keys = threadId === undefined ? [undefined] : placesOf(scope, threadId);
  const rows = await Promise.all(keys.map((key) => ledger.unknowns(key)));
  return rows.flat().filter(isRecordOf(scope));
}

/** The scope that is asked about. One that is named and cannot be used is no other scope. */
/** The scope that a host speaks for. Throws `config_invalid` for one that cannot be used. */
export function scopeNamed({ config }: { readonly config: Pick<Config, "scope"> }, options: InScope): string {
  return "scope" in options ? checkedScope(options.scope, "the host") : config.scope;
}

async function answerOne(
  ports: ReportPorts,
  shownCalls: ShownCalls,
  approvalId: string,
  answer: PersonAnswer,
  { approver, scope }: { readonly approver: string; readonly scope: string },
) {
  mustBeHeard(ports, approver);
  const asked = await ports.ledger.request(approvalId);
  const row = asked && (await ports.ledger.row(asked.request.operationId));
  if (!asked || !row || !isRecordOf(scope)(asked.request)) throw noApproval(approvalId);
  const { threadId: key, operationId } = asked.request;
  const threadId = threadOfKey(key);
  refuseLeft(await shownCalls(key, scope), asked.verdict === undefined, threadId, operationId);
  const checked = checkedAnswer(ports, { asked, row }, answer);
  const [result] = await storeAnswers(ports, [{ question: { asked, row }, answer: checked }], approver);
  switch (result?.kind) {
    case "stored":
      return { threadId, operationId };
    case "expired":
      throw decided(
        `approval \`${approvalId}\` has expired; the call was not run`,
        "ask again in the thread",
        threadId,
      );
    case "already_decided":
      throw decided(
        `approval \`${approvalId}\` was already decided`,
        "run `toolgate threads` to see where the thread stands",
        threadId,
      );
    default:
      throw noApproval(approvalId);
  }
}

/** The answer, read as the interrupt reads it. Throws `invalid_answer`. */
function checkedAnswer(ports: ReportPorts, { asked, row }: OpenQuestion, answer: PersonAnswer): PersonAnswer {
  const { request } = asked;
  const { operation } = row;
  const given =
    answer.type === "edit" ? { type: "edit", editedAction: { name: operation.alias, args: answer.arguments } } : answer;
  const question = { request, operation, tool: toolOf(operation, request.toolDigest), earlier: [] };
  const options = { now: ports.now(), positional: "refuse" } as const;
  const read = readAnswer({ decisions: { [request.approvalId]: given } }, [question], options);
  const checked = read.kind === "again" ? undefined : read.answers.get(request.approvalId);
  if (checked !== undefined) return checked;
  const why = read.kind === "again" ? read.reason : "the answer could not be read";
  throw new ToolgateError("invalid_answer", why, "correct the answer and give it again");
}

function noApproval(approvalId: string): ToolgateError {
  const hint = "run `toolgate approvals` to list the open ones";
  return new ToolgateError("not_found", `there is no approval \`${approvalId}\``, hint);
}

function decided(message: string, hint: string, threadId: string): ToolgateError {
  return new ToolgateError("already_decided", message, hint, { data: { threadId } });
}

/** An answer that nothing waits for is refused, not stored: nobody should believe that it did something. */
function refuseLeft(
  shown: readonly ShownCall[] | undefined,
  open: boolean,
  threadId: string,
  operationId: string,
): void {
  if (shown === undefined) {
    throw new ToolgateError(
      "not_found",
      `thread \`${threadId}\` is not in this store: its run keeps its state elsewhere`,
      "answer the question where the thread runs, for example in Studio",
    );
  }
  if (open && !shown.some((call) => call.operationId === operationId)) {
    throw new ToolgateError(
      "already_decided",
      `thread \`${threadId}\` has gone on without this question; nothing waits for its answer`,
      "run `toolgate approvals` to list the open ones",
      { data: { threadId } },
    );
  }
}

/** What reading an answer needs of a tool: nothing but its shape. */
function toolOf(operation: { alias: string; server: string | null; tool: string | null }, digest: string) {
  return {
    alias: operation.alias,
    server: operation.server ?? "",
    tool: operation.tool ?? "",
    description: "",
    inputSchema: {},
    digest,
  };
}

/** Throws `invalid_answer` for somebody whose answers and resolutions this host does not take. */
function mustBeHeard({ config }: ReportPorts, who: string): void {
  const refused = unheard(config.approvals, who);
  if (refused !== undefined) throw new ToolgateError("invalid_answer", refused, "sign in and answer again");
}

async function resolveOne(
  ports: ReportPorts,
  operationId: string,
  type: ResolutionType,
  options: { note?: string; by?: string; scope: string },
) {
  const by = identified(options.by);
  mustBeHeard(ports, by);
  const row = await ports.ledger.row(operationId);
  if (row !== undefined && !isRecordOf(options.scope)(row)) throw noOperation(operationId);
  const result = await ports.ledger.resolve(operationId, type, {
    by,
    ...(options.note === undefined ? {} : { note: options.note }),
  });
  switch (result.kind) {
    case "resolved":
      return { threadId: threadOfKey(result.row.threadId) };
    case "already_settled":
      throw new ToolgateError(
        "already_settled",
        `operation \`${operationId}\` is settled: ${result.row.outcome.status}`,
        "nothing is left to settle; run the thread again",
        { data: { threadId: threadOfKey(result.row.threadId) } },
      );
    case "owner_alive":
      throw new ToolgateError(
        "owner_alive",
        `the process that sent \`${result.row.operation.alias}\` may still send it, or get its answer`,
        "wait until it has ended, or until the time of its call is over, then say that it did not happen",
        { data: { threadId: threadOfKey(result.row.threadId) } },
      );
    case "not_found":
      throw noOperation(operationId);
  }
}

async function acceptThread(ports: ReportPorts, threadId: string, { note, by }: Said, scope: string) {
  const who = identified(by);
  mustBeHeard(ports, who);
  const unknowns: UnknownItem[] = [];
  let found = false;
  for (const key of placesOf(scope, threadId)) {
    if ((await ports.ledger.scopeOf(key)) !== scope) continue;
    const result = await ports.ledger.accept(key, { by: who, note });
    if (result.kind === "busy") throw takenOver(threadId);
    if (result.kind === "not_found") continue;
    found = true;
    unknowns.push(...result.unknown.map(toUnknownItem));
  }
  if (!found) throw noThread(threadId);
  return { threadId, unknowns };
}

function noOperation(operationId: string): ToolgateError {
  const hint = "run `toolgate unknowns` to list those with an unknown outcome";
  return new ToolgateError("not_found", `there is no operation \`${operationId}\``, hint);
}
