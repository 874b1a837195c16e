// The Postgres checkpointer: LangGraph's own, set up before its first use, and not undone by a connection that dies.
//
// Its tables are made under the lock of our own schema, in one transaction, because its setup is not safe for two hosts.
// Each of its writes is an upsert, so one whose connection died is made again; reads are made again, too. It keeps its
// tables in the schema that a connection starts in, as ours are.
//
//   postgres-checkpointer-1. No two branches of a thread give a channel the same version.

import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  type DeltaChannelHistory,
  type PendingWrite,
} from "@langchain/langgraph-checkpoint";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import type pg from "pg";
import type { ProbingSaver } from "../../langgraph/durability.js";
import { ourSaver } from "../../langgraph/keyed-saver.js";
import { CheckpointSerializer } from "../../langgraph/serde.js";
import type { Connection } from "./connection.js";
import { OneStatementSaver } from "./saver.js";
import { alone, type Session } from "./schema.js";

/** `fenced`: what a run saves is saved while the thread is its own, by the ledger in the same database. */
export function postgresCheckpointer(connection: Connection, fenced = true): BaseCheckpointSaver {
  return ourSaver(new PostgresCheckpointer(connection, fenced));
}

class PostgresCheckpointer extends BaseCheckpointSaver implements ProbingSaver {
  private saver: Promise<OneStatementSaver> | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly fenced: boolean,
  ) {
    super(new CheckpointSerializer());
  }

  /**
   * A channel's value is stored once for each version, so two branches must not come to the same one: after a fork each
   * would read the other's. (postgres-checkpointer-1)
   */
  override getNextVersion(current: number | undefined): number {
    return Math.floor(current ?? 0) + 1 + Math.random();
  }

  override getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    return this.run((saver) => saver.getTuple(config));
  }

  override async *list(config: RunnableConfig, options?: CheckpointListOptions): AsyncGenerator<CheckpointTuple> {
    yield* await this.run(async (saver) => {
      const tuples: CheckpointTuple[] = [];
      for await (const tuple of saver.list(config, options)) tuples.push(tuple);
      return tuples;
    });
  }

  override put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    return this.run((saver) => saver.put(config, checkpoint, metadata, newVersions));
  }

  override putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
    return this.run((saver) => saver.putWrites(config, writes, taskId));
  }

  /** Whether a checkpoint is stored, without loading it. */
  isStored(at: Parameters<ProbingSaver["isStored"]>[0]): Promise<boolean> {
    return this.run((saver) => saver.isStored(at));
  }

  override deleteThread(threadId: string): Promise<void> {
    return this.run((saver) => saver.deleteThread(threadId));
  }

  override getDeltaChannelHistory(options: {
    config: RunnableConfig;
    channels: string[];
  }): Promise<Record<string, DeltaChannelHistory>> {
    return this.run((saver) => saver.getDeltaChannelHistory(options));
  }

  /** Runs what may run twice. */
  private async run<T>(ask: (saver: OneStatementSaver) => Promise<T>): Promise<T> {
    this.saver ??= this.open().catch((error: unknown) => {
      this.saver = undefined;
      throw error;
    });
    const saver = await this.saver;
    return this.connection.again(() => ask(saver));
  }

  private async open(): Promise<OneStatementSaver> {
    const { connection } = this;
    await connection.ready();
    const [place] = await connection.query("SELECT current_schema() AS schema");
    const options = { schema: String(place?.schema) };
    await connection.again(() =>
      connection.session((session) =>
        alone(session, () => new PostgresSaver(only(session), this.serde, options).setup()),
      ),
    );
    return new OneStatementSaver(connection, this.serde, { ...options, fenced: this.fenced });
  }
}

/** A pool of one session that is in a transaction: what fails in it undoes itself alone, and its schema is there. */
function only(session: Session): pg.Pool {
  const query = async (text: string, values?: unknown[]) => {
    if (text.startsWith("CREATE SCHEMA")) return { rows: [] };
    await session.query("SAVEPOINT step");
    try {
      return await session.query(text, values);
    } catch (error) {
      await session.query("ROLLBACK TO SAVEPOINT step");
      throw error;
    }
  };
  return { connect: async () => ({ query, release: () => undefined }) } as unknown as pg.Pool;
}
