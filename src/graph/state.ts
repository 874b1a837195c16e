// The graph's state: small, plain, and worth nothing to whoever edits it (G9). What may run is in the host's own stores.

import { isDeepStrictEqual } from "node:util";
import { DeltaValue, MessagesDeltaValue, messagesDeltaReducer, ReducedValue, StateSchema } from "@langchain/langgraph";
import { z } from "zod";
import { HaltView, OperationView, SnapshotSummary } from "../contracts/index.js";

/** Version of the saved state's shape. A checkpoint of a later version is refused when it is loaded. */
export const STATE_VERSION = 1;

/**
 * Messages, stored as what each step added. A full copy every 193 updates keeps the walk back short and a long thread
 * small (`npm run bench`); LangGraph's default of 100 doubles the size for no measurable speed. A prime: where every turn
 * adds as much, the turn that pays for the copy is no round number.
 */
const Messages = new DeltaValue(MessagesDeltaValue.valueSchema, {
  inputSchema: MessagesDeltaValue.inputSchema as NonNullable<typeof MessagesDeltaValue.inputSchema>,
  reducer: messagesDeltaReducer,
  snapshotFrequency: 193,
  jsonSchemaExtra: { langgraph_type: "messages", description: "A list of chat messages" },
});

/** The last value written counts: a jump can make two nodes run in one step, and neither authorises anything. */
function last<T>(schema: z.ZodType<T>) {
  return new ReducedValue(schema, { inputSchema: schema, reducer: (_before: T, after: T) => after });
}

/** The public face: what goes in and what `invoke` returns. */
export const Public = new StateSchema({ messages: Messages });

export const State = new StateSchema({
  messages: Messages,
  snapshot: SnapshotSummary.optional(),
  operations: last(z.array(OperationView).default([])),
  halt: last(HaltView.default({ halted: false, operations: [] })),
  /** The highest number, in the ledger, of a write this branch of the thread has seen. */
  ledgerSeq: last(z.number().default(0)),
  /** On-demand servers this branch of the thread has connected. */
  connected: last(z.array(z.string()).default([])),
  /** Why the last answer to a question was not taken; shown with the question. */
  note: last(z.string().default("")),
  /** Only this code's own version is taken: a client that wrote a later one would make every host refuse the thread. */
  stateVersion: new ReducedValue(z.number().default(STATE_VERSION), {
    inputSchema: z.number(),
    reducer: (before: number, after: number) => (after === STATE_VERSION ? after : before),
  }),
});

export type GraphState = typeof State.State;
export type GraphUpdate = Partial<typeof State.Update>;

/** Stored whenever a node gives them: what messages do is their reducer's to say, and a version is to be in the store. */
const ALWAYS: readonly string[] = ["messages", "stateVersion"];

/** An update without what the state has already: LangGraph stores and numbers every value it is given, at each step. */
export function changesOf(state: GraphState, update: GraphUpdate): GraphUpdate {
  const changed = Object.entries(update).filter(
    ([key, value]) => ALWAYS.includes(key) || !isDeepStrictEqual(value, state[key as keyof GraphState]),
  );
  return Object.fromEntries(changed);
}
