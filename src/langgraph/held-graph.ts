// Held graph: the compiled graph, with one run a thread at a time and a rule for thread ids.
//
//   held-1. A run takes its thread before it reads the thread's state, and gives it back when its last checkpoint is
//           stored, whether or not anybody reads its stream to the end. A second run is told `already_running` at once.
//   held-2. An answer to a thread that asks nothing is told `already_decided`: it came second, or to the wrong thread.
//   held-3. What is no thread id is refused at every door of the graph.
//   held-4. As a part of another graph it takes no thread, because that graph decides when its runs begin and end. The
//           claim still keeps two runs apart.
//   held-5. A run saves checkpoints as long as the thread is its own (fenced-saver.ts), whichever checkpointer was put
//           into the graph.
//   held-6. A run whose thread could not be given back durably fails with `store_failed`, because what it returned might
//           not survive a loss of power.
//
// It overrides LangGraph's `_streamIterator` and `_resolveCheckpointer`, which are private: test/langgraph/pinned.test.ts names the version.

import {
  type BaseCheckpointSaver,
  EmptyInputError,
  isCommand,
  type LangGraphRunnableConfig,
} from "@langchain/langgraph";
import { checkedThreadId, ToolgateError } from "../contracts/index.js";
import { drained } from "./drain.js";
import { type Saves, savesOf } from "./fenced-saver.js";
import { type Lease, type LeasePorts, takeThread } from "./thread-lease.js";

export interface HeldPorts extends LeasePorts {
  /** `elapsed` resolves after so many milliseconds. */
  readonly after: (ms: number) => { readonly elapsed: Promise<void>; readonly cancel: () => void };
}

/** Where a run's hold on its thread stands among the configurable values, which no client can set: it is written over. */
const HOLD = "__toolgate_hold";

interface Hold {
  readonly lease: Lease;
  readonly saves: Saves;
}

/** The holds that were made here: what a client sends under the same name is none. */
const holds = new WeakSet<object>();

/** Set by LangGraph, to a function, where a graph runs inside of another one: no client can send one. */
const INSIDE = "__pregel_read";

type Options = Partial<LangGraphRunnableConfig>;

/** What of LangGraph's compiled graph is wrapped. `withConfig` makes another of the same class, so it stays wrapped. */
interface Runs {
  config?: Options;
  /** The checkpointer of a run, or of a look at the state. */
  _resolveCheckpointer(config?: Options): BaseCheckpointSaver | undefined;
  _streamIterator(input: unknown, options?: Options): AsyncGenerator<unknown>;
  getState(config: Options, options?: object): Promise<{ tasks: readonly { interrupts: readonly unknown[] }[] }>;
  getStateHistory(config: Options, options?: object): AsyncIterableIterator<unknown>;
  bulkUpdateState(config: Options, supersteps: unknown): Promise<unknown>; // `updateState` calls it
}

/** The same graph, holding its threads. */
export function held<G extends object>(graph: G, ports: HeldPorts): G {
  const Base = graph.constructor as new (fields: object) => Runs;
  class HeldGraph extends Base {
    override async *_streamIterator(input: unknown, options?: Options): AsyncGenerator<unknown> {
      const configurable = { ...this.config?.configurable, ...options?.configurable };
      const threadId = checkedThreadId(configurable["thread_id"]);
      const run = super._streamIterator.bind(this);
      const under = (hold: Hold | undefined) => ({
        ...options,
        configurable: { ...options?.configurable, [HOLD]: hold },
      });
      if (typeof configurable[INSIDE] === "function") {
        yield* run(input, under(undefined)); // held-4
        return;
      }
      const lease = await takeThread(ports, threadId); // held-1
      const saves = savesOf(threadId, lease, () => ports.after(0).elapsed);
      const hold: Hold = { lease, saves };
      holds.add(hold);
      yield* drained(
        async function* (this: HeldGraph) {
          let failure: { readonly error: unknown } | undefined;
          try {
            if (isCommand(input) && input.resume !== undefined) await this.#mustAsk(threadId, configurable); // held-2
            yield* run(input, under(hold));
          } catch (error) {
            failure = { error: inOurWords(error) };
          }
          await saves.end();
          await lease.close().catch((error: unknown) => {
            failure ??= { error }; // held-6
          });
          if (failure) throw failure.error;
        }.call(this),
      );
    }

    override _resolveCheckpointer(config?: Options) {
      const saver = super._resolveCheckpointer(config);
      const saves = holdIn(config)?.saves;
      return saver && saves ? saves.through(saver) : saver; // held-5
    }

    override async getState(config: Options, options?: object) {
      return super.getState(this.#checked(config), options);
    }

    override async *getStateHistory(config: Options, options?: object) {
      yield* super.getStateHistory(this.#checked(config), options);
    }

    override async bulkUpdateState(config: Options, supersteps: unknown) {
      return super.bulkUpdateState(this.#checked(config), supersteps);
    }

    /** A configuration as it came, or out of a run's stream: whoever looks or writes from outside does it under no run. */
    #checked(config: Options): Options {
      checkedThreadId({ ...this.config?.configurable, ...config.configurable }["thread_id"]);
      return { ...config, configurable: { ...config.configurable, [HOLD]: undefined } };
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
  return holdIn(runtime)?.lease;
}

/** Whether the run that this task belongs to has stored this checkpoint, as it is before each task under `sync`. */
export function storedByRun(runtime: LangGraphRunnableConfig, checkpointId: string): boolean {
  return holdIn(runtime)?.saves.isLast(checkpointId) === true;
}

function holdIn(config: Options | undefined): Hold | undefined {
  const hold = (config?.configurable as Record<string, unknown> | undefined)?.[HOLD];
  return typeof hold === "object" && hold !== null && holds.has(hold) ? (hold as Hold) : undefined;
}
