// Hosts that are broken on purpose, each by an exact change of its sources: the matrix must find each. A change whose text
// is no longer in its file is an error, not a mutant that lives.

import type { Effect } from "./effects.js";
import type { Store } from "./stores.js";

export interface Mutant {
  readonly name: string;
  readonly changes: readonly { readonly file: string; readonly find: string; readonly put: string }[];
  /** The cells that can show it. */
  readonly cells: readonly {
    readonly row: string;
    readonly effects: readonly Effect[];
    readonly stores: readonly Store[];
  }[];
  /** It shows only where the power goes. */
  readonly power?: boolean;
}

/** A method of the ledger whose commit does not survive a loss of power. */
function unsynced(method: "begin" | "answer" | "leave", row: string): Mutant {
  const find =
    method === "leave" ? `leave: (threadId, owner) => write("power-loss"` : `write("power-loss", readSets.${method}(`;
  return {
    name: `${method}-lost-with-power`,
    changes: [{ file: "src/ledger/ledger.ts", find, put: find.replace("power-loss", "kill") }],
    cells: [{ row, effects: ["E2"], stores: ["sqlite"] }],
    power: true,
  };
}

export const MUTANTS: readonly Mutant[] = [
  {
    // Neither the row's state nor who has the thread counts, for a claim or for what is saved: whoever claims last has it.
    name: "claim-without-compare-and-set",
    changes: [
      {
        file: "src/ledger/admission.ts",
        find: 'if (row === undefined || row.state === "proposed") return admit(facts);',
        put: "if (row === undefined || row.state !== undefined) return admit(facts);",
      },
      {
        file: "src/ledger/transaction.ts",
        find: "  if (holder === undefined || sameOwner(holder.owner, run)",
        put: "  if (holder !== undefined || holder === undefined) return undefined;\n  if (holder === undefined || sameOwner(holder.owner, run)",
      },
      {
        file: "src/adapters/sqlite/ledger.ts",
        find: "  return (threadId, run) => sameOwner(",
        put: "  return (threadId, run) => tables !== undefined || sameOwner(",
      },
    ],
    cells: [{ row: "F30", effects: ["E2"], stores: ["sqlite"] }],
  },
  {
    name: "dispatching-after-the-send",
    changes: [
      {
        file: "src/execution/call.ts",
        find: "  const begun = await begin(ports, dispatch); // call-order-1",
        put: `  const early = dispatch.send(terms.effect === "read" ? run.signal : undefined, run.lease.valid);
  await early.evidence;
  const begun = await begin(ports, dispatch);`,
      },
      {
        file: "src/execution/call.ts",
        find: "  const call = dispatch.send(signal, maySend); // call-order-2",
        put: "  const call = early; //",
      },
    ],
    cells: [
      { row: "F10", effects: ["E2"], stores: ["sqlite"] },
      { row: "F11", effects: ["E3"], stores: ["sqlite"] },
    ],
  },
  {
    // What every HTTP client does: a call whose answer is lost is made again on a new connection.
    name: "retry-in-the-client",
    changes: [
      {
        file: "src/execution/send.ts",
        find: "  return connection.call({\n    tool: entry.tool,",
        put: "  return twice(ports, operation.server as string, connection, {\n    tool: entry.tool,",
      },
      {
        file: "src/execution/send.ts",
        find: "function sendRemote(",
        put: `function twice(ports: ExecutionPorts, server: string, connection: any, request: any): Call {
  const call = connection.call(request);
  const evidence = call.evidence.then(async (first: any) => {
    if (first.how === "response") return first;
    const again = await ports.servers.connect(server);
    return again.ok ? again.connection.call(request).evidence : first;
  });
  return { evidence, late: call.late };
}

function sendRemote(`,
      },
    ],
    cells: [{ row: "F18", effects: ["E2"], stores: ["memory"] }],
  },
  {
    name: "expiry-unchecked",
    changes: [
      {
        file: "src/ledger/clock.ts",
        find: "  return now.at - since.at > lifeMs || now.elapsed - since.elapsed > lifeMs;",
        put: "  return lifeMs < 0 && now.at < since.at;",
      },
    ],
    cells: [{ row: "F26", effects: ["E2"], stores: ["memory", "sqlite"] }],
  },
  unsynced("begin", "F10"),
  unsynced("answer", "F05"),
  unsynced("leave", "F04"),
];
