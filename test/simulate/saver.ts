// Saver: LangGraph's own memory saver, with the project's serializer, behind a port that may be slow. A crash takes with it
// what was not stored yet.

import type { RunnableConfig } from "@langchain/core/runnables";
import { MemorySaver } from "@langchain/langgraph";
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  type PendingWrite,
} from "@langchain/langgraph-checkpoint";
import { CheckpointSerializer } from "../../src/langgraph/serde.js";
import type { Process } from "./world.js";

export function createSaver(): MemorySaver {
  return new MemorySaver(new CheckpointSerializer());
}

/** The shared saver as one host reaches it. `ms`: how long storing takes at most. */
export class PortedSaver extends BaseCheckpointSaver {
  readonly #shared: MemorySaver;
  readonly #process: Process;
  readonly #ms: number;

  constructor(shared: MemorySaver, process: Process, ms: number) {
    super(shared.serde);
    this.#shared = shared;
    this.#process = process;
    this.#ms = ms;
  }

  override getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    return this.#process.port("saver.getTuple", () => this.#shared.getTuple(config));
  }

  override async *list(config: RunnableConfig, options?: CheckpointListOptions): AsyncGenerator<CheckpointTuple> {
    const found = await this.#process.port("saver.list", async () => {
      const tuples: CheckpointTuple[] = [];
      for await (const tuple of this.#shared.list(config, options)) tuples.push(tuple);
      return tuples;
    });
    yield* found;
  }

  override put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    _versions: ChannelVersions,
  ): Promise<RunnableConfig> {
    return this.#process.port("saver.put", () => this.#shared.put(config, checkpoint, metadata), this.#ms);
  }

  override putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string, taskPath?: string): Promise<void> {
    return this.#process.port(
      "saver.putWrites",
      () => this.#shared.putWrites(config, writes, taskId, taskPath),
      this.#ms,
    );
  }

  override deleteThread(threadId: string): Promise<void> {
    return this.#process.port("saver.deleteThread", () => this.#shared.deleteThread(threadId));
  }

  override getDeltaChannelHistory(options: Parameters<MemorySaver["getDeltaChannelHistory"]>[0]) {
    return this.#process.port("saver.history", () => this.#shared.getDeltaChannelHistory(options));
  }
}

/** Copies every checkpoint of a thread to another, as a database tool would. */
export function copyThread(saver: MemorySaver, from: string, to: string): void {
  saver.storage[to] = structuredClone(saver.storage[from] ?? {});
  for (const [key, writes] of Object.entries(saver.writes)) {
    const [threadId, ...rest] = JSON.parse(key) as string[];
    if (threadId === from) saver.writes[JSON.stringify([to, ...rest])] = structuredClone(writes);
  }
}
