// What a run saves: the checkpointer of a store asks the ledger beside it whose the thread is, in the transaction that
// saves. Whoever was taken over saves nothing any more, however long its statement was on the way.

import { type BaseCheckpointSaver, emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { describe, expect, it } from "vitest";
import { type Owner, underRun } from "../../src/contracts/index.js";
import type { Ledger } from "../../src/ledger/port.js";
import { LEASE, owner } from "./ledger-world.js";

export interface Place {
  readonly clock: { now: number };
  readonly ledger: Ledger;
  readonly checkpointer: BaseCheckpointSaver;
}

export const [a, b] = [owner("a"), owner("b")];
const thread = { thread_id: "t1", checkpoint_ns: "" };
const of = (run: Owner | undefined, more: object = {}) => {
  const config = { configurable: { ...thread, ...more } };
  return run === undefined ? config : underRun(config, run);
};
export const put = (saver: BaseCheckpointSaver, run: Owner | undefined) => {
  const checkpoint = { ...emptyCheckpoint(), id: uuid6(0) };
  return saver.put(of(run), checkpoint, { source: "loop", step: 0, parents: {} }, {});
};
const TAKEN = { code: "already_running", message: "thread `t1` was taken over by another run" };

/** Declares the suite for one store. */
export function fenceSuite(kind: string, place: () => Promise<Place>): void {
  describe(`what a run saves in ${kind} (ledger-8) (checkpointer-5)`, () => {
    it("is saved while the thread is its own, and refused once another took it over (fenced-2)", async () => {
      const { clock, ledger, checkpointer } = await place();
      await ledger.enter("t1", a, LEASE);
      const { configurable } = await put(checkpointer, a);
      const saved = { checkpoint_id: configurable?.["checkpoint_id"] };
      await checkpointer.putWrites(of(a, saved), [["messages", "one"]], "task");
      clock.now += LEASE;
      await ledger.enter("t1", b, LEASE);
      await expect(put(checkpointer, a)).rejects.toMatchObject(TAKEN);
      await expect(checkpointer.putWrites(of(a, saved), [["messages", "two"]], "late")).rejects.toMatchObject(TAKEN);
      const head = await checkpointer.getTuple({ configurable: thread });
      expect([head?.checkpoint.id, head?.pendingWrites]).toEqual([saved.checkpoint_id, [["task", "messages", "one"]]]);
      await put(checkpointer, b);
      await ledger.leave("t1", b);
      await expect(put(checkpointer, b)).rejects.toMatchObject(TAKEN); // nor after it gave the thread back
    });

    it("is nobody's to refuse where no run is named, as by `updateState`", async () => {
      const { ledger, checkpointer } = await place();
      await ledger.enter("t1", a, LEASE);
      await put(checkpointer, undefined);
      expect(await checkpointer.getTuple({ configurable: thread })).toBeDefined();
    });
  });
}
