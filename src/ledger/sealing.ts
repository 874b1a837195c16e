// Sealing: tables that seal the rows and heads of threads (seals.ts) as a rule writes them.
//
//   sealing-3. Row and head are sealed in the transaction that changes them.
//   sealing-4. What is broken stays broken: a row whose seal does not hold is not sealed by the next change of it. Only a
//              person's `accept` seals a thread anew.
//   sealing-5. Where the host has no secret that outlives it, nothing is sealed, and nothing is called tampered.

import type { OperationRow } from "../contracts/index.js";
import {
  added,
  factsOf,
  type Head,
  NO_HEAD,
  removed,
  type Sealer,
  tampered,
  type Unsealed,
  unbelieved,
} from "./seals.js";
import type { Tables } from "./tables.js";

/** Tables whose rows and threads are sealed as they are written, and what is to be done when the rule has ended. */
export interface Sealing {
  readonly tables: Tables;
  /** How many changes of rows a thread will have seen; 0 where its head does not hold. */
  changesOf(threadId: string): number;
  /** Seals the heads of the threads that changed. */
  finish(): void;
}

/** `strict`: a row that is looked at alone, to be changed, must be as it was sealed; `store_tampered` is thrown where it is not. */
export function sealing(tables: Tables, sealer: Sealer, strict: boolean): Sealing {
  const rows = new RowSeals(sealer);
  const heads = new Heads(tables, sealer);
  return {
    tables: { ...tables, ...looking(tables, sealer, rows, strict), ...writing(tables, sealer, rows, heads) },
    changesOf: (threadId) => {
      const head = heads.of(threadId);
      return typeof head === "string" ? 0 : head.changes;
    },
    finish: () => heads.seal(),
  };
}

/** What one rule found of the seals of the rows that it looked at, and the seals that it gave. */
class RowSeals {
  readonly #broken = new Set<string>();
  readonly #given = new Map<string, string>();

  constructor(private readonly sealer: Sealer) {}

  /** Whether a row that is looked at alone is as it was sealed, in all that it says. */
  holdsWhole(row: OperationRow): boolean {
    return this.#stands(row, () => this.sealer.holdsWhole(row));
  }

  /** Looks at a row among others, at what its seal says of it and no further. */
  note(row: OperationRow): void {
    this.#stands(row, () => this.sealer.holds(factsOf(row)));
  }

  isBroken({ operation }: OperationRow): boolean {
    return this.#broken.has(operation.id);
  }

  /** The seal that a row bears in the store; undefined where it is new. */
  borne({ operation, seal }: OperationRow): string | undefined {
    return this.#given.get(operation.id) ?? seal;
  }

  give({ operation }: OperationRow, seal: string): void {
    this.#given.set(operation.id, seal);
  }

  #stands({ operation: { id } }: OperationRow, holds: () => boolean): boolean {
    if (!this.#broken.has(id) && (this.#given.has(id) || holds())) return true;
    this.#broken.add(id);
    return false;
  }
}

/** The heads of threads as one rule leaves them. They are sealed once, when it has ended. */
class Heads {
  readonly #changed = new Map<string, Head>();

  constructor(
    private readonly tables: Tables,
    private readonly sealer: Sealer,
  ) {}

  of(threadId: string): Head | Unsealed {
    const known = this.#changed.get(threadId);
    if (known !== undefined) return known;
    const text = this.tables.head(threadId);
    return text === undefined ? NO_HEAD : this.sealer.openHead(threadId, text);
  }

  change(threadId: string, head: Head): void {
    this.#changed.set(threadId, head);
  }

  seal(): void {
    for (const [threadId, head] of this.#changed) this.tables.setHead(threadId, this.sealer.sealHead(threadId, head));
  }
}

type Looking =
  | "row"
  | "rowsOfProposal"
  | "rowsOfThread"
  | "dispatching"
  | "unknownWrites"
  | "identicalWrites"
  | "writesAfter"
  | "inHand"
  | "proposal";

/** The rule looks at rows: whether their seals hold is noted, for the case that it changes them. */
function looking(tables: Tables, sealer: Sealer, rows: RowSeals, strict: boolean): Pick<Tables, Looking> {
  const one = (row: OperationRow | undefined): OperationRow | undefined => {
    if (row === undefined || rows.holdsWhole(row) || !strict) return row;
    throw unbelieved(sealer, row);
  };
  /** Rows that the rule may change, too. */
  const whole = <Row extends OperationRow>(found: Row[]): Row[] => {
    for (const row of found) rows.holdsWhole(row);
    return found;
  };
  /** Rows that only count for a guard. */
  const counted = <Row extends OperationRow>(found: Row[]): Row[] => {
    for (const row of found) rows.note(row);
    return found;
  };
  return {
    row: (id) => one(tables.row(id)),
    rowsOfProposal: (id) => whole(tables.rowsOfProposal(id)),
    rowsOfThread: (...place) => whole(tables.rowsOfThread(...place)),
    dispatching: (threadId) => whole(tables.dispatching(threadId)),
    unknownWrites: (threadId) => whole(tables.unknownWrites(threadId)),
    identicalWrites: (...of) => counted(tables.identicalWrites(...of)),
    writesAfter: (...of) => counted(tables.writesAfter(...of)),
    inHand: (threadId) => whole(tables.inHand(threadId)),
    proposal: (id) => {
      const proposal = tables.proposal(id);
      if (proposal === undefined || sealer.holdsProposal(proposal) || !strict) return proposal;
      throw tampered(proposal.threadId, `the model's response \`${id}\` was changed`);
    },
  };
}

/** The rule writes what a head counts: the head is changed with it. A head that does not open stays as it is. (sealing-4) */
function writing(
  tables: Tables,
  sealer: Sealer,
  rows: RowSeals,
  heads: Heads,
): Pick<Tables, "putRow" | "addModelRequest" | "nextSeq"> {
  return {
    putRow: (row) => {
      const head = heads.of(row.threadId);
      if (typeof head === "string" || rows.isBroken(row)) {
        tables.putRow(row); // sealing-4: it bears the seal that it bore
        return;
      }
      const before = rows.borne(row);
      const changes = head.changes + 1;
      const seal = sealer.sealRow(row, changes);
      const sum = added(before === undefined ? head.sum : removed(head.sum, before), seal);
      heads.change(row.threadId, { ...head, changes, rows: head.rows + (before === undefined ? 1 : 0), sum });
      rows.give(row, seal);
      tables.putRow({ ...row, seal });
    },
    addModelRequest: (record) => {
      const { threadId, proposal } = record;
      const first = proposal !== undefined && tables.proposal(proposal.proposalId) === undefined;
      const sealed = proposal && { proposal: { ...proposal, seal: sealer.sealProposal(proposal) } };
      const isNew = tables.addModelRequest({ ...record, ...sealed });
      const head = heads.of(threadId);
      if (isNew && first && typeof head !== "string") {
        heads.change(threadId, { ...head, changes: head.changes + 1, proposals: head.proposals + 1 });
      }
      return isNew;
    },
    nextSeq: (threadId) => {
      const head = heads.of(threadId);
      const seq = tables.nextSeq(threadId);
      if (typeof head === "string") return seq;
      if (head.lastSeq >= 0 && head.lastSeq !== seq - 1)
        throw tampered(threadId, "the number of its last write was changed");
      heads.change(threadId, { ...head, lastSeq: seq });
      return seq;
    },
  };
}
