// What execution needs of its host, and what it is told of the run that it acts for.

import type { AssembleResult, SchemaChecker, ServerListing } from "../catalog/index.js";
import type { Config, ConnectResult, Digest, Owner, Servers, ToolSnapshot } from "../contracts/index.js";
import type { Ledger } from "../ledger/port.js";
import type { ResultStore } from "../observation/index.js";
import type { Settings } from "../policy/index.js";

export interface ExecutionPorts {
  readonly config: Config;
  readonly ledger: Pick<
    Ledger,
    "begin" | "claim" | "proposal" | "readBack" | "refuse" | "row" | "settle" | "settleLate"
  >;
  readonly results: Pick<ResultStore, "put" | "read">;
  readonly servers: Pick<Servers, "connection">;
  readonly catalog: ListedTools;
  readonly checker: Pick<SchemaChecker, "check">;
  readonly settings: Settings;
  /** The host's own tools, by name. */
  readonly tools: ReadonlyMap<string, HostTool>;
  /** Key of grants for servers that have none of their own. */
  readonly secret: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Milliseconds that never go back, whatever becomes of the clock; only differences mean something. */
  readonly steady: () => number;
  /** `elapsed` resolves after so many milliseconds, or as soon as `cancel` is called. */
  readonly after: (ms: number) => { readonly elapsed: Promise<void>; readonly cancel: () => void };
  /** Takes what closing must wait for: calls in flight, and late answers, which outlive a run. */
  readonly background: (work: Promise<unknown>, operationId: string) => void;
  /** Resolves once this process waits for no late answer to the operation. */
  readonly quiet: (operationId: Digest) => Promise<void>;
  /** Text without the host's secrets. */
  readonly redact: (text: string) => string;
  /** Takes a value out of all text from now on. */
  readonly hide: (value: string) => void;
}

/** Milliseconds within which the state that a write runs from must be stored. */
export const STORED_WITHIN_MS = 3_000;

/** The lists of the servers, as they were last seen or as they are now. */
export interface ListedTools {
  /** Whether one of these servers must be listed again before its tools are relied on. */
  due(names: readonly string[]): boolean;
  /**
   * The digest of each of the server's tools as it lists them now, or why it could not be listed. `place`: the claim it is
   * for, of which the list may have been begun when the batch was judged.
   */
  verify(
    name: string,
    place?: { readonly run: object; readonly proposalId: string },
  ): Promise<
    | { readonly ok: true; readonly digests: ReadonlyMap<string, Digest> }
    /** `connected`: there was a connection, and the list failed. */
    | { readonly ok: false; readonly problem: string; readonly connected: boolean }
  >;
  /** Connects a server for a call, unless it failed a moment ago. Never rejects. */
  connect(name: string): Promise<ConnectResult>;
  /** The digest of each of the server's tools as it last listed them; undefined when it never did in this process. */
  digests(name: string): ReadonlyMap<string, Digest> | undefined;
  list(name: string): Promise<ServerListing>;
  assemble(names: readonly string[], previous: ToolSnapshot | undefined): Promise<AssembleResult>;
  snapshot(id: Digest): Promise<ToolSnapshot | undefined>;
  latest(): ToolSnapshot | undefined;
}

/** A tool of the host's own. */
export interface HostTool {
  invoke(args: unknown, config: object): Promise<unknown>;
}

/** The run that acts, as far as the road of a call must know it. */
export interface Run {
  /** The thread's key. */
  readonly threadId: string;
  readonly scope: string;
  readonly lease: RunLease;
  /** The highest number of a write that this branch of the thread has seen. */
  readonly ledgerSeq: number;
  /** On-demand servers that this branch of the thread has connected. */
  readonly connected: readonly string[];
  /** The snapshot that the thread stands at. */
  readonly snapshotId: Digest | undefined;
  /** Cancels reads; a write in flight is never cancelled. */
  readonly signal: AbortSignal | undefined;
  /** Whether the state that the run would go on from after a crash is stored, at the latest after so many milliseconds. */
  readonly stored: (withinMs: number) => Promise<boolean>;
  /** What one of the host's own tools is told of the run. */
  readonly toolConfig: (signal: AbortSignal | undefined) => object;
  /** Tells whoever watches the run. **Contract:** must not throw. */
  readonly tell: (event: object) => void;
}

/** What lets the run act. An operation is held from before its claim until nothing more can come of it. */
export interface RunLease {
  readonly owner: Owner;
  /** The run holds its thread: what it writes is refused once the thread is another run's. */
  readonly holdsThread: boolean;
  readonly hold: (operationId: string) => void;
  readonly release: (operationId: string) => void;
  /** Whether the run may still act. Asked just before the first byte of a call. */
  readonly valid: () => boolean;
}
