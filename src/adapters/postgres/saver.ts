// The saver: LangGraph's own, with what it does in many statements done in one.
//
// A delta channel is rebuilt from two queries, however many ancestors it has. A checkpoint, or a task's writes, are one
// statement, which is one transaction. The tables and rows are LangGraph's: every checkpoint that its saver wrote can be
// read, and it can read ours.
//
//   postgres-saver-1. What a run saves is saved while the thread is its own, by the ledger beside it; otherwise
//                     `already_running` is thrown. The thread's row is locked for it: whoever takes the thread over waits,
//                     and then finds what was saved.

import type { RunnableConfig } from "@langchain/core/runnables";
import {
  type ChannelVersions,
  type Checkpoint,
  type CheckpointMetadata,
  type DeltaChannelHistory,
  type PendingWrite,
  type SerializerProtocol,
  WRITES_IDX_MAP,
} from "@langchain/langgraph-checkpoint";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import pg from "pg";
import { savingRun, takenOver } from "../../contracts/index.js";
import type { ProbingSaver } from "../../langgraph/durability.js";
import type { Connection } from "./connection.js";
import { key, ownerKey } from "./keys.js";

interface Place {
  readonly thread: string;
  readonly ns: string;
  readonly id: string | undefined;
}

type StoredAt = Parameters<ProbingSaver["isStored"]>[0];

interface HistoryRow {
  readonly depth: number;
  readonly id: string;
  readonly missing: readonly string[];
  readonly task_id: string | null;
  readonly channel: string;
  readonly type: string;
  readonly blob: Uint8Array;
}

export class OneStatementSaver extends PostgresSaver {
  private readonly tables: Readonly<Record<"checkpoints" | "blobs" | "writes" | "threads", string>>;
  private readonly fenced: boolean;

  constructor(
    private readonly connection: Pick<Connection, "pool" | "statement">,
    serde: SerializerProtocol,
    options: { readonly schema: string; readonly fenced: boolean },
  ) {
    super(connection.pool, serde, { schema: options.schema });
    this.fenced = options.fenced;
    const schema = pg.escapeIdentifier(options.schema);
    this.tables = {
      checkpoints: `${schema}.checkpoints`,
      blobs: `${schema}.checkpoint_blobs`,
      writes: `${schema}.checkpoint_writes`,
      threads: `${schema}.toolgate_threads`,
    };
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const { thread, ns, id: parent } = placeOf(config);
    const blobs = await this._dumpBlobs(thread, ns, checkpoint.channel_values, newVersions);
    const { checkpoints, blobs: table } = this.tables;
    await this.save(
      config,
      `blobs AS (INSERT INTO ${table} (thread_id, checkpoint_ns, channel, version, type, blob)
         SELECT $1, $2, b.* FROM mine, unnest($7::text[], $8::text[], $9::text[], $10::bytea[]) b
         ON CONFLICT DO NOTHING),
       saved AS (INSERT INTO ${checkpoints}
           (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
         SELECT $1, $2, $3, $4::text, $5::jsonb, $6::jsonb FROM mine
         ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id)
         DO UPDATE SET checkpoint = excluded.checkpoint, metadata = excluded.metadata)`,
      [
        ...[thread, ns, checkpoint.id, parent ?? null],
        ...[this._dumpCheckpoint(checkpoint), await this._dumpMetadata(metadata)],
        ...[blobs.map((blob) => blob[2]), blobs.map((blob) => blob[3]), blobs.map((blob) => blob[4])],
        blobs.map((blob) => (blob[5] ? Buffer.from(blob[5]) : null)),
      ],
    );
    return { configurable: { thread_id: thread, checkpoint_ns: ns, checkpoint_id: checkpoint.id } };
  }

  override async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
    const { thread, ns, id = "" } = placeOf(config);
    const dumped = await this._dumpWrites(thread, ns, id, taskId, writes);
    const over = writes.every(([channel]) => channel in WRITES_IDX_MAP);
    // What is written over twice by one statement is an error: the last of each number is what would stand.
    const rows = over ? [...new Map(dumped.map((row) => [row[4], row])).values()] : dumped;
    const conflict = over
      ? "DO UPDATE SET channel = excluded.channel, type = excluded.type, blob = excluded.blob"
      : "DO NOTHING";
    await this.save(
      config,
      `saved AS (INSERT INTO ${this.tables.writes}
           (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob)
         SELECT $1, $2, $3, $4, w.* FROM mine, unnest($5::int[], $6::text[], $7::text[], $8::bytea[]) w
         ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) ${conflict})`,
      [
        ...[thread, ns, id, taskId],
        ...[rows.map((row) => row[4]), rows.map((row) => row[5]), rows.map((row) => row[6])],
        rows.map((row) => Buffer.from(row[7])),
      ],
    );
  }

  private ask<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[]): Promise<pg.QueryResult<Row>> {
    return this.connection.pool.query<Row>(this.connection.statement(text, values));
  }

  /** Runs what stores rows out of `mine`: one empty row while the thread is the run's own, none after. (postgres-saver-1) */
  private async save(config: RunnableConfig, text: string, values: readonly unknown[]): Promise<void> {
    const { thread_id } = config.configurable ?? {};
    const run = savingRun(config);
    const held = this.fenced ? run : undefined;
    const [thread, holder] = [values.length + 1, values.length + 2].map((at) => `$${at}`);
    const mine = held
      ? `SELECT FROM ${this.tables.threads} WHERE thread = ${thread} AND holder_key = ${holder} FOR SHARE`
      : "SELECT";
    const given = [...values, ...(held ? [key(thread_id), ownerKey(held)] : [])];
    const { rowCount } = await this.ask(`WITH mine AS (${mine}), ${text} SELECT FROM mine`, given);
    if (rowCount === 0) throw takenOver(thread_id);
  }

  /** Whether a checkpoint is stored, without loading it. */
  async isStored({ configurable: { thread_id, checkpoint_ns, checkpoint_id } }: StoredAt): Promise<boolean> {
    const { rowCount } = await this.ask(
      `SELECT FROM ${this.tables.checkpoints} WHERE thread_id = $1 AND checkpoint_ns = $2 AND checkpoint_id = $3`,
      [thread_id, checkpoint_ns, checkpoint_id],
    );
    return rowCount === 1;
  }

  override async getDeltaChannelHistory(options: {
    config: RunnableConfig;
    channels: string[];
  }): Promise<Record<string, DeltaChannelHistory>> {
    const { config, channels } = options;
    if (channels.length === 0) return {};
    const place = placeOf(config);
    const rows = await this.ancestors(place, channels);
    const ends = channels.map((channel) => rows.findLast((row) => !row.missing.includes(channel)));
    const seeds = await this.whole(
      place,
      channels.flatMap((channel, at) => (ends[at] ? [{ channel, id: ends[at].id }] : [])),
    );
    const result: Record<string, DeltaChannelHistory> = {};
    for (const [at, channel] of channels.entries()) {
      const oldest = ends[at]?.depth ?? Number.POSITIVE_INFINITY;
      const own = rows.filter((row) => row.task_id !== null && row.channel === channel && row.depth <= oldest);
      const writes = own.map(
        async ({ task_id, type, blob }): Promise<[string, string, unknown]> => [
          task_id as string,
          channel,
          await this.serde.loadsTyped(type, blob),
        ],
      );
      result[channel] = { writes: await Promise.all(writes), ...seeds.get(channel) };
    }
    return result;
  }

  /** The ancestors up to the one where the last of the channels was stored whole, oldest first, with their writes. */
  private async ancestors({ thread, ns, id }: Place, channels: readonly string[]): Promise<HistoryRow[]> {
    const { checkpoints, blobs, writes } = this.tables;
    const latest = `(SELECT max(checkpoint_id) FROM ${checkpoints} WHERE thread_id = $1 AND checkpoint_ns = $2)`;
    const text = `
      WITH RECURSIVE chain AS (
        SELECT 0 AS depth, checkpoint_id AS id, parent_checkpoint_id AS parent, $4::text[] AS missing
          FROM ${checkpoints} WHERE thread_id = $1 AND checkpoint_ns = $2 AND checkpoint_id = coalesce($3, ${latest})
        UNION ALL
        SELECT chain.depth + 1, c.checkpoint_id, c.parent_checkpoint_id, ARRAY(
            SELECT m FROM unnest(chain.missing) m WHERE NOT EXISTS (SELECT FROM ${blobs} b
              WHERE b.thread_id = $1 AND b.checkpoint_ns = $2 AND b.channel = m AND b.type <> 'empty'
              AND b.version = c.checkpoint -> 'channel_versions' ->> m))
          FROM chain JOIN ${checkpoints} c
            ON c.thread_id = $1 AND c.checkpoint_ns = $2 AND c.checkpoint_id = chain.parent
          WHERE chain.missing <> '{}'
      )
      SELECT depth, id, missing, w.task_id, w.channel, w.type, w.blob
        FROM chain LEFT JOIN ${writes} w ON w.thread_id = $1 AND w.checkpoint_ns = $2 AND w.checkpoint_id = id
          AND w.channel = ANY($4)
        WHERE depth > 0 ORDER BY depth DESC, w.task_id, w.idx`;
    return (await this.ask<HistoryRow & pg.QueryResultRow>(text, [thread, ns, id ?? null, channels])).rows;
  }

  /** The values of channels in the checkpoints where they stand whole. */
  private async whole(
    { thread, ns }: Place,
    wanted: readonly { readonly channel: string; readonly id: string }[],
  ): Promise<Map<string, { seed: unknown }>> {
    if (wanted.length === 0) return new Map();
    const { checkpoints, blobs } = this.tables;
    const { rows } = await this.ask<{ channel: string; type: string; blob: Uint8Array }>(
      `SELECT b.channel, b.type, b.blob FROM unnest($3::text[], $4::text[]) AS w(channel, id)
         JOIN ${checkpoints} c ON c.thread_id = $1 AND c.checkpoint_ns = $2 AND c.checkpoint_id = w.id
         JOIN ${blobs} b ON b.thread_id = $1 AND b.checkpoint_ns = $2 AND b.channel = w.channel
           AND b.version = c.checkpoint -> 'channel_versions' ->> w.channel`,
      [thread, ns, wanted.map(({ channel }) => channel), wanted.map(({ id }) => id)],
    );
    const values = rows.map(
      async ({ channel, type, blob }): Promise<[string, { seed: unknown }]> => [
        channel,
        { seed: await this.serde.loadsTyped(type, blob) },
      ],
    );
    return new Map(await Promise.all(values));
  }
}

function placeOf(config: RunnableConfig): Place {
  const { thread_id, checkpoint_ns = "", checkpoint_id } = config.configurable ?? {};
  if (!thread_id) throw new Error('Missing "thread_id" field in passed "config.configurable".');
  return { thread: thread_id, ns: checkpoint_ns, id: checkpoint_id };
}
