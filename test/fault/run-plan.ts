// What `run-child.ts` is told to do, as JSON in its first argument.

import type { Ledger } from "../../src/ledger/port.js";

/** A point of a run. Named by a call of the ledger's port, or by the n-th request of the model. */
export type Point =
  | { readonly before: keyof Ledger; readonly nth?: number }
  | { readonly after: keyof Ledger; readonly nth?: number }
  | { readonly model: number };

export interface Plan {
  /** As `createToolgate` takes it, with a SQLite store. */
  readonly config: { readonly store: { readonly path: string } } & Readonly<Record<string, unknown>>;
  readonly steps: readonly { readonly say?: string; readonly calls?: readonly object[] }[];
  readonly threadId: string;
  /** One run each: a user message, null to go on, `approve` to say yes to everything that is asked. */
  readonly runs: readonly (string | null | { readonly approve: true })[];
  readonly durability: "sync" | "async";
  /** Where it says `reached` and stops for ever. Without one it stops nowhere, and says `done` at the end. */
  readonly stop?: Point;
  /**
   * Checkpoints from this step on are never stored, as with a disk that hangs. It says `waiting` when somebody asks for
   * one of them.
   */
  readonly holdFromStep?: number;
  /** Keeps checkpoints in its own memory only. */
  readonly forgetful?: boolean;
}

/** One line of what the child says. */
export type Said = { readonly at: "reached" | "waiting" | "done" } | { readonly error: string };
