// What a host process is told and what it says: its plan as JSON in its first argument, one line each way after that.

import type { OperationRow } from "../../../src/contracts/index.js";
import type { Asked } from "../../../src/ledger/port.js";
import type { Halt } from "./points.js";
import type { Found } from "./promises.js";
import type { WalPlace } from "./wal.js";

/** One run of the graph, or a look at the ledger. */
export type Action =
  | { readonly do: "ask"; readonly question: string }
  /** Says yes, once, to everything that is asked. */
  | { readonly do: "yes" }
  /**
   * Goes on with the thread, saying yes to whatever is asked; nothing is said about unknown outcomes. `question` is asked
   * again where the thread does not know of it.
   */
  | { readonly do: "on"; readonly question?: string }
  /** The same, again and again while another host is told to be running it. */
  | { readonly do: "on when free" }
  /** A person accepts the thread, or the store, as it is. */
  | { readonly do: "accept" | "accept restored" }
  /** Lists unknown outcomes outside any run. */
  | { readonly do: "look" }
  /** Says of each operation of the thread, outside any run, that it did not happen. */
  | { readonly do: "deny" };

export interface Plan {
  /** As `createToolgate` takes it. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly steps: readonly { readonly say?: string; readonly calls?: readonly object[] }[];
  readonly threadId: string;
  readonly actions: readonly Action[];
  /** Where it halts, in this order: a halt is looked for once the one before it was reached. */
  readonly halts: readonly Halt[];
  /** What is kept of the wire: a line for each `tools/call` that was handed to a server's pipe. */
  readonly wirePath: string;
  /** Milliseconds that the host's clock is off. @default 0 */
  readonly offsetMs?: number;
  /** The machine it says it runs on. @default this one */
  readonly machine?: string;
  /** A halt within the ledger also says what the ledger holds: for a store that dies with its process. */
  readonly witness?: boolean;
  /** Takes its threads from the runner, one round after the other, until it is told none: see race.ts. */
  readonly races?: boolean;
  /** The host's machine can lose its power. */
  readonly power?: PowerPlan;
}

/** What a host does whose machine can lose its power. */
export interface PowerPlan {
  /** Where it keeps what it has promised to people, a line each (promises.ts). */
  readonly promisesPath: string;
  /** It says what it finds before it does anything. */
  readonly looks: boolean;
  /** SQLite copies the log into the database whenever it has this many pages. @default SQLite's own, 1000 */
  readonly copyPages?: number;
}

/** What a host is told that stands. */
export interface Go {
  /** The thread of the next round. */
  readonly threadId?: string;
  /** Whether it asks the thread's question. */
  readonly prepare?: boolean;
  /** Runs that it lets go at once. @default 1 */
  readonly runners?: number;
  /** The clock is off by this from now on. */
  readonly offsetMs?: number;
  /** The store's disk from now on: `readonly` takes no writes, `full` has no room, `well` is as it was. */
  readonly disk?: "readonly" | "full" | "well";
  /** Milliseconds for which the store waits for another process from now on. */
  readonly patienceMs?: number;
}

/** A message of the thread, as far as it is looked at. */
export interface Told {
  readonly type: string;
  readonly text: string;
  /** Ids of an AI message's calls. */
  readonly calls?: readonly string[];
  /** The call a tool message answers, and what it says became of it. */
  readonly answers?: string;
  readonly operationId?: string;
  readonly status?: string;
}

/** The ledger and the messages, as a host reads them through its own ports. */
export interface Words {
  readonly rows: readonly OperationRow[];
  readonly asked: readonly Asked[];
  readonly messages: readonly Told[];
  /** What each action came to: the code of its error, or `""`. */
  readonly errors: readonly string[];
}

export type Said =
  | {
      readonly at: "halt";
      readonly point: string;
      /** Where the log of its SQLite file ended with the last commit at FULL. */
      readonly synced: WalPlace | undefined;
      readonly words?: Words;
    }
  | { readonly at: "done"; readonly words: Words }
  | { readonly at: "found"; readonly found: Found }
  | { readonly at: "lost"; readonly server: string }
  | { readonly at: "ready" | "closed" }
  | { readonly at: "acted"; readonly action: Action["do"]; readonly error: string }
  | { readonly at: "raced"; readonly errors: readonly string[] }
  | { readonly error: string };
