// What a caller gives `createToolgate`, and what it gets back.

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { StructuredToolInterface } from "@langchain/core/tools";
import type { BaseCheckpointSaver, LangGraphRunnableConfig } from "@langchain/langgraph";
import type { Config, Finding, ToolSnapshot } from "../contracts/index.js";
import type { Decide } from "../gate/host-decision.js";
import type { Identity } from "../gate/identity.js";
import type { buildGraph, GraphPorts } from "../graph/index.js";
import type { Ledger } from "../ledger/port.js";
import type { InScope, Records } from "../report/records.js";

export interface ToolgateOptions {
  /** A path to `toolgate.json`, or its content. */
  readonly config: string | Config | Readonly<Record<string, unknown>>;
  /** Any LangChain chat model that binds tools. @default the configuration's `model` */
  readonly model?: BaseChatModel;
  /** @default a saver in the configured store */
  readonly checkpointer?: BaseCheckpointSaver;
  /** The caller closes it: `close()` leaves it open. @default the configured store */
  readonly ledger?: Ledger;
  /** The host's own tools, offered beside the servers'. */
  readonly tools?: readonly StructuredToolInterface[];
  /**
   * Who answers questions in a run; with `{ id, scope }` also whose threads and records the run sees. It is asked of every run, of
   * every look at a thread's state and of every change to it, with its configuration, before anything is read; and again in the
   * node that was answered. **Contract:** synchronous; may throw or return undefined; then nobody is identified, and the scope is the
   * configuration's. A scope that cannot be used (a string of 1 to 255 characters can) is refused with `config_invalid`. It must not
   * believe what a client can write: `configurable`, `context` and headers, unless the host's own server wrote them.
   * `"langgraph-auth"` is the host's word that LangGraph's server has `auth` set up and stamps `langgraph_auth_user`.
   * @default the configuration's `approvals.identity`; without it nobody is identified
   */
  readonly identify?: ((runtime: LangGraphRunnableConfig) => string | Identity | undefined) | "langgraph-auth";
  /**
   * The host's own word on each call that the rules allow or ask about. It may tighten only: `allow` becomes `ask` or `deny`, and
   * `ask` becomes `deny`; what the rules deny is not put to it. It is asked when a response is judged, and again just before its
   * calls are claimed; once more where a question is shown or answered in a process that has not asked about the call. So an
   * allowed call is asked about twice. Of different answers the strictest holds. The calls of one response are asked about side
   * by side. `reason` is shown to people and to the model. **Contract:** may throw, reject or stay silent: undefined, an unknown
   * kind and no answer within `decideTimeoutMs` all deny; `signal` is aborted when nobody waits any more. Other threads go on
   * while it is awaited. A loop that never yields stops the process, as any code of the host's would.
   * @default the rules alone decide
   */
  readonly decide?: Decide;
  /** Milliseconds that `decide` has for one answer. @default 10000 */
  readonly decideTimeoutMs?: number;
  /**
   * Names this machine among those that share a store: whether a process of another machine still lives is decided by its
   * lease alone. Set it where containers or virtual machines share a machine id. @default the operating system's id
   */
  readonly machine?: string;
  /** The clock, in epoch milliseconds, for expiry and the ledger's times. On one machine no lease is counted on it. @default Date.now */
  readonly now?: () => number;
}

export interface Toolgate {
  /** The compiled graph: invoke, stream, getState, getStateHistory. */
  readonly graph: ReturnType<typeof buildGraph>;
  readonly ledger: Records;
  readonly config: Config;
  /** What is odd about the configuration, without having started anything. What becomes odd about the store later is added. */
  readonly findings: readonly Finding[];
  /** What the graph's nodes are given; for the command and the service. */
  readonly host: GraphPorts;
  /** The current snapshot (of a thread of the configuration's scope, or of another one); undefined before the first discovery. */
  snapshot(threadId?: string, options?: InScope): Promise<ToolSnapshot | undefined>;
  /**
   * Takes what a thread was about out of every store: its checkpoints, results, arguments and messages. Digests of its
   * operations stay, so that the guards hold. Throws `not_found`, `already_running` and `unsettled` (a write is unknown).
   */
  forget(threadId: string, options?: InScope): Promise<void>;
  /**
   * Ends every process that was started, after calls in flight and late answers were waited for. Every step is taken even
   * when an earlier one fails; the first failure is then thrown. Idempotent.
   */
  close(): Promise<void>;
}
