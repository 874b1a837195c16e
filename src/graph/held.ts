// Held: the compiled graph, with one run a thread at a time (L8 of the ledger's port) and a rule for thread ids.
//
//   H1. A run takes its thread before it reads the thread's state and gives it back when its last checkpoint is stored,
//       whether or not anybody reads its stream to the end. A second run is told `already_running`, at once.
//   H2. An answer to a thread that asks nothing is told `already_decided`: it came second, or to the wrong thread.
//   H3. A thread id is a string of 1 to 255 characters, without control characters and lone surrogates.
//   H4. As a part of another graph it takes no thread: that graph's runs are not ours to order. The claim still is.
//   H5. What it saves it saves as long as the thread is its own (fenced.ts), whichever checkpointer was put into the graph.

import {
  type BaseCheckpointSaver,
  EmptyInputError,
  isCommand,
  type LangGraphRunnableConfig,
} from "@langchain/langgraph";
import { isThreadId, ToolgateError } from "../contracts/index.js";
import { fenced } from "./fenced.js";
import type { Host } from "./host.js";
import { type Lease, takeThread } from "./lease.js";
import { pumped } from "./pump.js";

/** Where a run's lease stands among the configurable values, which no client can set: it is written over. */
const LEASE = "__toolgate_lease";

/** Set by LangGraph, to a function, where a graph runs inside of another one: no client can send one. */
const INSIDE = "__pregel_read";

/** Where LangGraph looks for a checkpointer before it takes the graph's own. */
const SAVER = "__pregel_checkpointer";

type Options = Partial<LangGraphRunnableConfig>;

/** What of LangGraph's compiled graph is wrapped. `withConfig` makes another of the same class, so it stays wrapped. */
interface Runs {
  config?: Options;
  checkpointer?: BaseCheckpointSaver | boolean;
  _streamIterator(input: unknown, options?: Options): AsyncGenerator<unknown>;
  getState(config: Options, options?: object): Promise<{ tasks: readonly { interrupts: readonly unknown[] }[] }>;
  getStateHistory(config: Options, options?: object): AsyncIterableIterator<unknown>;
  updateState(config: Options, values: unknown, asNode?: string): Promise<unknown>;
}

/** The same graph, holding its threads. */
export function held<G extends object>(graph: G, host: Host): G {
  const Base = graph.constructor as new (fields: object) => Runs;
  class HeldGraph extends Base {
    override async *_streamIterator(input: unknown, options?: Options): AsyncGenerator<unknown> {
      const configurable = { ...this.config?.configurable, ...options?.configurable };
      const threadId = checkedThreadId(configurable["thread_id"]);
      if (typeof configurable[INSIDE] === "function") {
        yield* super._streamIterator(input, options); // H4
        return;
      }
      const lease = await takeThread(host, threadId); // H1
      const run = super._streamIterator.bind(this);
      const saver = typeof this.checkpointer === "object" ? fenced(this.checkpointer, threadId, lease) : undefined;
      const options_ = { ...options, configurable: { ...options?.configurable, [LEASE]: lease, [SAVER]: saver } };
      yield* pumped(
        async function* (this: HeldGraph) {
          try {
            if (isCommand(input) && input.resume !== undefined) await this.#mustAsk(threadId, configurable); // H2
            yield* run(input, options_);
          } catch (error) {
            throw inOurWords(error);
          } finally {
            await lease.close();
          }
        }.call(this),
      );
    }

    override async getState(config: Options, options?: object) {
      this.#checked(config);
      return super.getState(config, options);
    }

    override async *getStateHistory(config: Options, options?: object) {
      this.#checked(config);
      yield* super.getStateHistory(config, options);
    }

    override async updateState(config: Options, values: unknown, asNode?: string) {
      this.#checked(config);
      return super.updateState(config, values, asNode);
    }

    #checked(config: Options): void {
      checkedThreadId({ ...this.config?.configurable, ...config.configurable }["thread_id"]);
    }

    async #mustAsk(threadId: string, configurable: NonNullable<Options["configurable"]>): Promise<void> {
      const { tasks } = await super.getState({ configurable });
      if (tasks.some(({ interrupts }) => interrupts.length > 0)) return;
      throw new ToolgateError(
        "already_decided",
        `thread \`${threadId}\` asks nothing: it was answered already, or went on`,
        "run the thread without an answer to go on with it",
        { data: { threadId } },
      );
    }
  }
  return new HeldGraph({ ...graph }) as unknown as G;
}

/**
 * A run that was given nothing to do; and two nodes of one step, as a jump can make them, that both fail in our words:
 * LangGraph's bundle of errors hides them.
 */
function inOurWords(error: unknown): unknown {
  if (error instanceof EmptyInputError) {
    return new ToolgateError(
      "empty_question",
      "there is nothing to run: the thread is new or has come to its end, and no message or answer was given",
      "send one human message, or answer what the thread asks with `new Command({ resume: { decisions } })`",
      { cause: error },
    );
  }
  if (!(error instanceof AggregateError)) return error;
  const ours = error.errors.filter((one) => one instanceof ToolgateError);
  return ours.length === error.errors.length ? ours[0] : error;
}

/** The lease a node runs under; undefined where the graph is part of another one. */
export function leaseOf(runtime: LangGraphRunnableConfig): Lease | undefined {
  return (runtime.configurable as Record<string, unknown> | undefined)?.[LEASE] as Lease | undefined;
}

/** H3 */
export function checkedThreadId(threadId: unknown): string {
  if (isThreadId(threadId)) return threadId;
  const what =
    typeof threadId === "string" ? "has no characters, too many, or such as cannot be shown" : "is no string";
  throw new ToolgateError(
    "thread_invalid",
    threadId === undefined ? "no thread is named" : `the thread id ${what}`,
    "give `configurable.thread_id` a string of 1 to 255 characters, without control characters",
  );
}
