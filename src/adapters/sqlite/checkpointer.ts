// The SQLite checkpointer: LangGraph's own, without the three costs that grow with a thread.
//
//   checkpointer-1. A delta channel is rebuilt from a constant number of queries, however many ancestors it has.
//   checkpointer-2. The rows are LangGraph's: the same tables, and every checkpoint that its saver wrote can be read.
//   checkpointer-3. What was put survives the end of the process when `put` and `putWrites` return. It survives a loss of
//                   power at the latest when the run's next send, settlement or end is stored in the ledger of the same
//                   file; where no such ledger follows (toolgate as a part of another graph, a ledger of the caller's
//                   own), it does so at once.
//   checkpointer-5. What a run saves is saved while the thread is its own. The ledger is asked in the same transaction; if
//                   the thread is another run's, `already_running` is thrown.
//
// Where the file cannot be written, `store_failed` is thrown, as the ledger in the same file throws it.
//
// A checkpoint repeats the whole small state at every step, so its blob is kept deflated, under a type of its own. The
// names of the channels it holds stand beside it: the walk over ancestors then opens no blob but the one it ends at.

import { deflateSync, inflateSync } from "node:zlib";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  type DeltaChannelHistory,
  type PendingWrite,
  WRITES_IDX_MAP,
} from "@langchain/langgraph-checkpoint";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import Database from "better-sqlite3";
import { type Owner, savingRun, takenOver } from "../../contracts/index.js";
import type { ProbingSaver } from "../../langgraph/durability.js";
import { ourSaver } from "../../langgraph/keyed-saver.js";
import { CheckpointSerializer } from "../../langgraph/serde.js";
import { type Commit, committing, reading } from "./commit.js";
import { PATIENCE_MS, STEP_MS } from "./patience.js";

/** The type under which deflated checkpoints stand. Their metadata is plain JSON, which `list` filters by. */
const DEFLATED = "json+deflate";

/**
 * Level 3 takes a third of the default's time for a few percent more bytes, because some turn waits for the full copy of a
 * long thread. Every step waits for its small state, where most of the time is spent on zlib's tables: `memLevel` 5 makes
 * them an eighth of the default's size.
 */
const DEFLATE = { level: 3, memLevel: 5 } as const;

/** Whether a thread is a run's own, asked inside of a transaction. */
export type Holds = (threadId: string, run: Owner) => boolean;

/**
 * Opens the checkpointer on a file, or on a database that is already open. Close it with `saver.db.close()`. `holds` asks
 * the ledger in the same file; without it a run that was taken over is not noticed here. (checkpointer-5)
 */
export function openCheckpointer(path: string | Database.Database, holds?: Holds): SqliteSaver & ProbingSaver {
  const db = typeof path === "string" ? new Database(path, { timeout: PATIENCE_MS }) : path;
  db.pragma("journal_mode = WAL");
  db.pragma("secure_delete = ON");
  db.pragma(`busy_timeout = ${STEP_MS}`); // from now on another process is waited for by patience.ts
  return ourSaver(new ToolgateSaver(db, holds));
}

class DeflatedSerializer extends CheckpointSerializer {
  override async loadsTyped(type: string, data: Uint8Array | string): Promise<unknown> {
    return type === DEFLATED ? this.loadsDeflated(data) : super.loadsTyped(type, data);
  }

  loadsDeflated(data: Uint8Array | string): unknown {
    return this.loadsJson(typeof data === "string" || !isDeflated(data) ? data : inflateSync(data));
  }
}

/** The first byte of a zlib stream. JSON text never starts with it. */
function isDeflated(data: Uint8Array): boolean {
  return data[0] === 0x78;
}

/** The ancestors of a checkpoint up to the one where the last of the channels was stored whole, with their writes. */
const HISTORY = `
  WITH RECURSIVE chain(depth, id, parent, missing) AS (
    SELECT 0, checkpoint_id, parent_checkpoint_id, @channels FROM checkpoints
      WHERE thread_id = @thread AND checkpoint_ns = @ns AND checkpoint_id = @id
    UNION ALL
    SELECT depth + 1, c.checkpoint_id, c.parent_checkpoint_id,
        (SELECT json_group_array(m.value) FROM json_each(missing) m WHERE m.value NOT IN (SELECT value FROM json_each(
          coalesce(c.channels, (SELECT json_group_array(key)
            FROM json_each(CAST(c.checkpoint AS TEXT), '$.channel_values'))))))
      FROM chain JOIN checkpoints c
        ON c.thread_id = @thread AND c.checkpoint_ns = @ns AND c.checkpoint_id = chain.parent
      WHERE missing <> '[]'
  )
  SELECT depth, id, missing, w.task_id, w.channel, w.type, CAST(w.value AS TEXT) AS value
    FROM chain LEFT JOIN writes w ON w.thread_id = @thread AND w.checkpoint_ns = @ns AND w.checkpoint_id = id
      AND w.channel IN (SELECT value FROM json_each(@channels))
    WHERE depth > 0
    ORDER BY depth DESC, w.task_id, w.idx`;

interface HistoryRow {
  readonly depth: number;
  readonly id: string;
  readonly missing: string;
  readonly task_id: string | null;
  readonly channel: string;
  readonly type: string | null;
  readonly value: string | null;
}

const PUT_WRITE = (over: boolean) => `
  INSERT ${over ? "OR REPLACE" : "OR IGNORE"} INTO writes
    (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, value) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;

const PUT = `
  INSERT OR REPLACE INTO checkpoints
    (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata, channels)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;

const WHOLE =
  "SELECT type, checkpoint FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?";

const IS_STORED = "SELECT 1 FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?";

type StoredAt = Parameters<ProbingSaver["isStored"]>[0];

class ToolgateSaver extends SqliteSaver implements ProbingSaver {
  private readonly commit: Commit;
  private readonly prepared = new Map<string, Database.Statement>();
  private readonly json: CheckpointSerializer;
  private complete = false;

  constructor(
    db: Database.Database,
    private readonly holds: Holds | undefined,
  ) {
    const serializer = new DeflatedSerializer();
    super(db, serializer);
    this.json = serializer;
    this.commit = committing(db);
  }

  protected override setup(): void {
    if (this.isSetup) return;
    super.setup();
    const hasColumn = () =>
      (this.db.pragma("table_info(checkpoints)") as { name: string }[]).some(({ name }) => name === "channels");
    if (hasColumn()) return; // nobody has to be waited for
    const addColumn = this.db.transaction(() => {
      if (hasColumn()) return;
      this.db.exec("ALTER TABLE checkpoints ADD COLUMN channels TEXT"); // checkpointer-2: null in rows written before
    });
    addColumn.immediate(); // another process may be opening the same file
  }

  /** `setup`, which may have to wait for another process. */
  private async ready(): Promise<void> {
    if (this.complete) return;
    await reading(this.db, () => {
      this.isSetup = false;
      this.setup();
    });
    this.complete = true;
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    await this.ready();
    return reading(this.db, () => super.getTuple(config));
  }

  override async *list(config: RunnableConfig, options?: CheckpointListOptions): AsyncGenerator<CheckpointTuple> {
    await this.ready();
    // The rows are read when the first one is asked for.
    const { rows, first } = await reading(this.db, async () => {
      const rows = super.list(config, options);
      return { rows, first: await rows.next() };
    });
    if (first.done !== true) yield first.value;
    yield* rows;
  }

  override async deleteThread(threadId: string): Promise<void> {
    await this.ready();
    await this.commit("power-loss", () => {
      for (const table of ["checkpoints", "writes"])
        this.statement(`DELETE FROM ${table} WHERE thread_id = ?`).run(threadId);
    });
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
  ): Promise<RunnableConfig> {
    await this.ready();
    const { thread_id, checkpoint_ns = "", checkpoint_id: parent } = config.configurable ?? {};
    if (!thread_id) throw new Error('Missing "thread_id" field in passed "config.configurable".');
    const { v, id, ts, channel_values, channel_versions, versions_seen } = checkpoint;
    const [, whole] = this.json.dump({ v, id, ts, channel_values, channel_versions, versions_seen });
    const [, described] = this.json.dump(metadata);
    const channels = JSON.stringify(Object.keys(channel_values));
    const deflated = deflateSync(whole, DEFLATE);
    await this.save(config, PUT, [[thread_id, checkpoint_ns, id, parent, DEFLATED, deflated, described, channels]]);
    return { configurable: { thread_id, checkpoint_ns, checkpoint_id: id } };
  }

  override async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
    await this.ready();
    const { thread_id, checkpoint_ns = "", checkpoint_id } = config.configurable ?? {};
    if (!thread_id) throw new Error('Missing "thread_id" field in passed "config.configurable".');
    if (!checkpoint_id) throw new Error('Missing "checkpoint_id" field in passed "config.configurable".');
    const rows = writes.map(([channel, value], index) => {
      const [type, dumped] = this.json.dump(value);
      const at = WRITES_IDX_MAP[channel] ?? index;
      return [thread_id, checkpoint_ns, checkpoint_id, taskId, at, channel, type, dumped];
    });
    const over = writes.every(([channel]) => channel in WRITES_IDX_MAP);
    await this.save(config, PUT_WRITE(over), rows);
  }

  /** Stores rows, all or none, for a run whose thread it is. (checkpointer-5) */
  private async save(config: RunnableConfig, text: string, rows: readonly unknown[][]): Promise<void> {
    const { thread_id } = config.configurable ?? {};
    const run = savingRun(config);
    const ended = run !== undefined && this.holds !== undefined; // the run ends with a commit to the ledger of this file
    await this.commit(ended ? "kill" : "power-loss", () => {
      if (run !== undefined && this.holds?.(thread_id, run) === false) throw takenOver(thread_id);
      for (const row of rows) this.statement(text).run(...row);
    });
  }

  /** Whether a checkpoint is stored, without loading it. */
  async isStored({ configurable: { thread_id, checkpoint_ns, checkpoint_id } }: StoredAt): Promise<boolean> {
    await this.ready();
    return reading(this.db, () => this.isThere(thread_id, checkpoint_ns, checkpoint_id));
  }

  private isThere(...place: readonly unknown[]): boolean {
    return this.statement(IS_STORED).get(...place) !== undefined;
  }

  override async getDeltaChannelHistory(options: {
    config: RunnableConfig;
    channels: string[];
  }): Promise<Record<string, DeltaChannelHistory>> {
    const { config, channels } = options;
    if (channels.length === 0) return {};
    await this.ready();
    const { thread_id: thread, checkpoint_ns: ns = "", checkpoint_id } = config.configurable ?? {};
    const rows = await reading(this.db, () => {
      const id = checkpoint_id ?? this.latest(thread, ns);
      return this.statement(HISTORY).all({ thread, ns, id, channels: JSON.stringify(channels) }) as HistoryRow[];
    });
    const result: Record<string, DeltaChannelHistory> = {};
    for (const channel of channels) {
      const seedRow = rows.findLast((row) => !(JSON.parse(row.missing) as string[]).includes(channel));
      const oldest = seedRow?.depth ?? Number.POSITIVE_INFINITY;
      const history: DeltaChannelHistory = { writes: [] };
      for (const row of rows) {
        if (row.task_id === null || row.channel !== channel || row.depth > oldest) continue;
        const { type, value: data } = row;
        // Hundreds of them: JSON is read at once, without a turn of the event loop for each.
        const value =
          type === "json" ? this.json.loadsJson(data ?? "") : await this.serde.loadsTyped(type ?? "json", data ?? "");
        history.writes.push([row.task_id, channel, value]);
      }
      if (seedRow) history.seed = (await this.wholeValues(thread, ns, seedRow.id))[channel];
      result[channel] = history;
    }
    return result;
  }

  private statement(text: string): Database.Statement {
    const known = this.prepared.get(text);
    const statement = known ?? this.db.prepare(text);
    if (!known) this.prepared.set(text, statement);
    return statement;
  }

  private latest(thread: string, ns: string): string | undefined {
    return this.db
      .prepare("SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ?")
      .pluck()
      .get(thread, ns) as string | undefined;
  }

  private async wholeValues(thread: string, ns: string, id: string): Promise<Record<string, unknown>> {
    const row = await reading(
      this.db,
      () => this.statement(WHOLE).get(thread, ns, id) as { type: string | null; checkpoint: Uint8Array },
    );
    return ((await this.serde.loadsTyped(row.type ?? "json", row.checkpoint)) as Checkpoint).channel_values;
  }
}
