// Host: everything the nodes are given. One of them belongs to one `createToolgate`; nodes hold nothing of their own.

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { StructuredToolInterface } from "@langchain/core/tools";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { SchemaChecker } from "../catalog/index.js";
import type { Config, Digest, Owner } from "../contracts/index.js";
import type { Ledger } from "../ledger/port.js";
import type { Servers } from "../contracts/servers.js";
import type { ResultStore } from "../observation/index.js";
import type { Policy, Settings } from "../policy/index.js";
import type { Catalog } from "./catalog.js";

export interface Host {
  readonly config: Config;
  readonly ledger: Ledger;
  readonly results: ResultStore;
  readonly servers: Servers;
  readonly catalog: Catalog;
  readonly checker: SchemaChecker;
  readonly policy: Policy;
  readonly settings: Settings;
  /** Resolved at the first request: drawing the graph needs no model. */
  readonly model: () => Promise<BaseChatModel>;
  /** The host's own tools, by name. */
  readonly tools: ReadonlyMap<string, StructuredToolInterface>;
  /** A new owner, for one run: two runs of one process are two owners. */
  readonly newOwner: () => RunOwner;
  /** Key of the seal on verdicts. */
  readonly secret: string;
  /** Who answers in this run. Contract: may throw; then nobody is identified. */
  readonly identify: (runtime: LangGraphRunnableConfig) => string | undefined;
  /** Milliseconds that never go back, whatever becomes of the clock; only differences mean something. */
  readonly steady: () => number;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** A fresh random id of 128 bits. */
  readonly newId: () => string;
  readonly every: (ms: number, tick: () => void) => () => void;
  readonly after: (ms: number) => { readonly elapsed: Promise<void>; readonly cancel: () => void };
  /** Takes what closing must wait for: calls in flight, and late answers, which outlive a run. */
  readonly background: (work: Promise<unknown>, operationId: string) => void;
  /** Resolves once this process waits for no late answer to the operation. */
  readonly quiet: (operationId: Digest) => Promise<void>;
  readonly redact: (text: string) => string;
  /** Takes a value out of all text from now on. */
  readonly hide: (value: string) => void;
  /** Says why JSON text cannot be taken as it stands (duplicate keys and the like); undefined when it can. */
  readonly jsonProblem: (text: string) => string | undefined;
}

/** Who claims in one run, and what it has in flight. An operation is held before it is claimed. */
export interface RunOwner {
  readonly owner: Owner;
  readonly hold: (operationId: string) => void;
  readonly release: (operationId: string) => void;
}

/** Nobody in particular. */
export const UNAUTHENTICATED = "unauthenticated";
