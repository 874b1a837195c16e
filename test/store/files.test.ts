// The files of a store under a host that runs: deleted, replaced, or with a log that a reader lets grow.

import { copyFileSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { openStore } from "../../src/adapters/sqlite/open.js";
import { effects, start } from "../graph/branches.js";
import { bench } from "../support/in-process.js";
import { storeFolder } from "../support/store-folder.js";

const { path: folder } = storeFolder();

const b = bench();
const store = () => join(folder(), "store");
const file = (ending = "") => join(store(), `toolgate.sqlite${ending}`);

/** What a person, or a script that tidies up, does to a store in use. */
const HARM: Record<string, () => void> = {
  "whose folder was deleted": () => rmSync(store(), { recursive: true }),
  "whose folder was moved away": () => renameSync(store(), join(folder(), "elsewhere")),
  "whose folder was deleted and made anew": () => {
    rmSync(store(), { recursive: true });
    mkdirSync(store());
    openStore(file()).close();
  },
  "whose file was deleted": () => rmSync(file()),
  "whose log was deleted": () => rmSync(file("-wal")),
  "whose log's index was deleted": () => rmSync(file("-shm")),
  "whose file a backup was moved over": () => {
    copyFileSync(file(), join(folder(), "backup"));
    renameSync(join(folder(), "backup"), file());
  },
};

// The folder of a store was deleted under a host, which went on to send writes that no store knew of afterwards.
describe("a store in use", () => {
  const config = () => ({ permissions: { allow: ["mcp__hostile__act"] }, store: { kind: "sqlite", path: store() } });
  const failure = {
    code: "store_failed",
    message: expect.stringMatching(/was (deleted|replaced) while it was in use; nothing more is sent$/),
  };

  test.each(Object.entries(HARM))(
    "%s takes no further run, and nothing more is sent (sqlite-files-1)",
    async (_, harm) => {
      const agent = await start(b, config());
      await agent.ask("do act:a");
      expect(effects(b)).toEqual(["act:a"]);
      harm();
      await expect(agent.ask("do act:b")).rejects.toMatchObject(failure);
      expect(effects(b)).toEqual(["act:a"]);
    },
  );

  test.each(Object.entries(HARM))(
    "%s between the claim and the send: the call is not sent (sqlite-files-1)",
    async (_, harm) => {
      const agent = await start(b, config());
      const { ledger } = agent.toolgate.host;
      const begin: typeof ledger.begin = (...args) => {
        harm();
        return ledger.begin(...args);
      };
      let elapsed = 0; // an outcome that the store does not take is offered again for half a minute
      Object.assign(agent.toolgate.host, {
        ledger: { ...ledger, begin },
        after: (ms: number) => {
          elapsed += ms;
          return { elapsed: Promise.resolve(), cancel: () => {} };
        },
        steady: () => elapsed,
      });
      await expect(agent.ask("do act:a")).rejects.toMatchObject(failure);
      expect(effects(b)).toEqual([]);
    },
  );

  test("that was moved away and put back is used again", async () => {
    const agent = await start(b, config());
    await agent.ask("do act:a");
    renameSync(store(), join(folder(), "elsewhere"));
    await expect(agent.ask("do act:b")).rejects.toMatchObject(failure);
    renameSync(join(folder(), "elsewhere"), store());
    await agent.ask("do act:c");
    expect(effects(b)).toEqual(["act:a", "act:c"]);
  });

  test("may be shared, copied, read and emptied of its log by others", async () => {
    const agent = await start(b, config());
    await agent.ask("do act:a");
    copyFileSync(file(), join(folder(), "copy"));
    const other = new Database(file());
    other.pragma("wal_checkpoint(TRUNCATE)");
    other.prepare("SELECT count(*) FROM threads").get();
    other.close();
    await agent.ask("do act:b");
    expect(effects(b)).toEqual(["act:a", "act:b"]);
  });
});
