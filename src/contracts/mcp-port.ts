// The MCP port: what listing and execution need of a connected server, and the facts that a call leaves behind.
//
//   servers-1. Evidence says what was seen on the transport. It is never derived from the code or the text of an error.
//   servers-2. One call sends at most one request. A second send under one call is refused and seen in the evidence.
//   servers-3. Results and list pages come from the raw response, not from what an SDK makes of it.
//   servers-4. At the deadline of a write nothing is cancelled, and listening goes on for `keepListeningMs`.
//   servers-5. Text in `detail` and `problem` is one line, bounded and redacted.

import type { JsonObject } from "./index.js";

export type RawResponse =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } };

export interface CallEvidence {
  /** A send was attempted: the request may have gone out. */
  readonly attempted: boolean;
  /** The attempt provably reached nobody: connection refused, name not found, TLS handshake failed. */
  readonly refused: boolean;
  /** How waiting ended. `error`: before or instead of an answer; `aborted`: the run was cancelled (reads only). */
  readonly how: "response" | "closed" | "error" | "deadline" | "aborted";
  /** Status of the HTTP response to this very request, when it was not a success. */
  readonly httpStatus?: number;
  /** The HTTP response said that the session is gone (404 on a request that carried a session id). */
  readonly sessionGone?: boolean;
  /** The HTTP response was a 401 that says that the access token was refused (RFC 6750). */
  readonly tokenRefused?: boolean;
  readonly response?: RawResponse;
  /** Size of the raw response, in bytes of its JSON. */
  readonly bytes?: number;
  /** The response was above `maxBytes` and was not kept. */
  readonly tooLarge?: boolean;
  readonly detail?: string;
}

export interface CallRequest {
  /** The server's own name for the tool. */
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly meta: JsonObject;
  /** As the snapshot has it; outputSchema is left out on purpose (we validate ourselves). */
  readonly inputSchema: JsonObject;
  readonly deadlineMs: number;
  /** How long to listen after the deadline. 0 for reads. */
  readonly keepListeningMs: number;
  readonly maxBytes: number;
  /** Asked immediately before the first byte; false means: send nothing (`attempted` stays false). */
  readonly maySend: () => boolean;
  /** Cancels a read. Never given for a write. */
  readonly signal?: AbortSignal;
}

export interface Call {
  /** Resolves at the answer, the loss, or the deadline; never rejects. */
  readonly evidence: Promise<CallEvidence>;
  /** Resolves with the evidence of an answer that came after the deadline, or undefined when none came in time. */
  readonly late: Promise<CallEvidence | undefined>;
}

export type ListPage =
  | { readonly ok: true; readonly tools: readonly unknown[]; readonly nextCursor?: unknown; readonly bytes: number }
  | { readonly ok: false; readonly problem: string };

export interface ServerConnection {
  readonly name: string;
  /** The negotiated protocol version. */
  readonly protocol: string;
  readonly serverInfo: { readonly name: string; readonly version: string };
  /** One page of `tools/list`, by raw response. `cursor` undefined asks for the first; "" is a cursor like any other. */
  listPage(cursor: string | undefined, deadlineMs: number, maxBytes: number): Promise<ListPage>;
  call(request: CallRequest): Call;
  readonly closed: boolean;
}

export type ConnectResult =
  | { readonly ok: true; readonly connection: ServerConnection }
  | { readonly ok: false; readonly problem: string };

/** The servers of one host. Connections are opened once, shared by all threads, and opened again after a loss. */
export interface Servers {
  readonly names: readonly string[];
  /** Milliseconds within which a server must be connected, and within which its whole list must have come. @default 30000 */
  readonly connectTimeoutMs?: number;
  /** Connects, or returns the living connection. Never rejects. */
  connect(name: string): Promise<ConnectResult>;
  /** The living connection, if there is one. */
  connection(name: string): ServerConnection | undefined;
  /** A number that rises whenever the server may list something else: after list_changed and after each new connection. */
  generation(name: string): number;
  /** Listens for progress: `connecting`, `connected`, `failed`, `closed`, `list_changed`. Returns the unsubscribe. Contract: may throw; ignored. */
  onEvent(
    listener: (event: { readonly server: string; readonly kind: string; readonly detail?: string }) => void,
  ): () => void;
  /** Ends every connection and every process that was started: end of stdin, SIGTERM, SIGKILL, the whole group. Waits for late answers first. */
  close(): Promise<void>;
}
