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
//   held-7. A run, a look at a thread and a change to it are of one scope, which the host names. A thread of another scope is
//           not there (place.ts, keyed-saver.ts).
//   held-8. What a run, a look or a change throws holds no secret of the configuration.
//
// It overrides LangGraph's `_streamIterator` and `_resolveCheckpointer`, which are private: test/langgraph/pinned.test.ts names the version.

import {
  type BaseCheckpointSaver,
  EmptyInputError,
  InvalidUpdateError,
  isCommand,
  type LangGraphRunnableConfig,
} from "@langchain/langgraph";
import { ToolgateError } from "../contracts/index.js";
import type { Ledger } from "../ledger/port.js";
import { redactedError } from "../observation/index.js";
import { drained } from "./drain.js";
import { type Saves, savesOf } from "./fenced-saver.js";
import { keyedSaver } from "./keyed-saver.js";
import { mustBeOurs, type Options, type Place, placeIn, takeForScope } from "./place.js";
import { type Lease, type LeasePorts, takeThread } from "./thread-lease.js";

export interface HeldPorts extends LeasePorts {
  readonly ledger: LeasePorts["ledger"] & Pick<Ledger, "adopt" | "scopeOf">;
  /** `elapsed` resolves after so many milliseconds. */
  /** Takes the secrets out of text. */
  readonly redact: (text: string) => string;
  readonly after: (ms: number) => { readonly elapsed: Promise<void>; readonly cancel: () => void };
}

/** Where a run's hold on its thread stands among the configurable values, which no client can set: it is written over. */
const HOLD = "__toolgate_hold";

/** A run, or a look at a thread, which has no lease; nor has a run as part of another graph. */
interface Hold {
  readonly place: Place;
  readonly lease?: Lease;
  readonly saves?: Saves;
}

/** The holds that were made here: what a client sends under the same name is none. */
const holds = new WeakSet<object>();

function newHold(hold: Hold): Hold {
  holds.add(hold);
  return hold;
}

/** Set by LangGraph, to a function, where a graph runs inside of another one: no client can send one. */
const INSIDE = "__pregel_read";

/** Where LangGraph lends a part of another graph the checkpointer of that graph. */
const LENT = "__pregel_checkpointer";

/** What of LangGraph's compiled graph is wrapped. `withConfig` makes another of the same class, so it stays wrapped. */
interface Runs {
  config?: Options;
  checkpointer?: unknown;
  /** The checkpointer of a run, or of a look at the state. */
  _resolveCheckpointer(config?: Options): BaseCheckpointSaver | undefined;
  _streamIterator(input: unknown, options?: Options): AsyncGenerator<unknown>;
  getState(config: Options, options?: object): Promise<Shown>;
  getStateHistory(config: Options, options?: object): AsyncIterableIterator<unknown>;
  bulkUpdateState(config: Options, supersteps: unknown): Promise<unknown>; // `updateState` calls it
}

interface Shown {
  readonly config: Options;
  readonly tasks: readonly { readonly interrupts: readonly unknown[] }[];
}

/** The same graph, holding its threads. `scopeOf` says in which scope a run or a look is. **Contract:** throws where it is in none. */
export function held<G extends object>(
  graph: G,
  ports: HeldPorts,
  scopeOf: (config: LangGraphRunnableConfig) => string,
): G {
  const clean = (error: unknown) => redactedError(error, ports.redact); // held-8
  const rethrow = (error: unknown) => {
    throw clean(error);
  };
  const Base = graph.constructor as new (fields: object) => Runs;
  class HeldGraph extends Base {
    override async *_streamIterator(input: unknown, options?: Options): AsyncGenerator<unknown> {
      try {
        yield* this.#run(input, options);
      } catch (error) {
        throw clean(error);
      }
    }

    async *#run(input: unknown, options?: Options): AsyncGenerator<unknown> {
      const place = this.#placeOf(options);
      const config = merged(this.config, options);
      const run = super._streamIterator.bind(this);
      const under = (hold: Hold) => ({
        ...options,
        configurable: { ...config.configurable, [HOLD]: hold },
      });
      if (typeof config.configurable?.[INSIDE] === "function") {
        await takeForScope(ports.ledger, place);
        yield* run(input, under(newHold({ place }))); // held-4
        return;
      }
      const { key, scope } = place;
      const lease = await takeThread(ports, { threadId: key, scope }); // held-1
      const saves = savesOf(key, lease, () => ports.after(0).elapsed);
      const hold = newHold({ place, lease, saves });
      yield* drained(
        async function* (this: HeldGraph) {
          let failure: { readonly error: unknown } | undefined;
          try {
            if (isCommand(input) && input.resume !== undefined) await this.#mustAsk(place, under(hold).configurable); // held-2
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
      const { place, saves } = holdIn(config) ?? {};
      const keyed = saver && place?.keyed ? keyedSaver(saver, place.scope) : saver; // held-7
      return keyed && saves ? saves.through(keyed) : keyed; // held-5
    }

    override async getState(config: Options, options?: object) {
      return this.#look(config, options).catch(rethrow);
    }

    async #look(config: Options, options?: object) {
      const place = this.#placeOf(config);
      await mustBeOurs(ports.ledger, place);
      const shown = await super.getState(looking(config, place), options);
      return holdIn(shown.config) ? { ...shown, config: looking(shown.config, undefined) } : shown; // as given: nothing is stored
    }

    override async *getStateHistory(config: Options, options?: object) {
      try {
        const place = this.#placeOf(config);
        await mustBeOurs(ports.ledger, place);
        yield* super.getStateHistory(looking(config, place), options);
      } catch (error) {
        throw clean(error);
      }
    }

    override async bulkUpdateState(config: Options, supersteps: unknown) {
      try {
        const place = this.#placeOf(config);
        await takeForScope(ports.ledger, place);
        return await super.bulkUpdateState(looking(config, place), supersteps);
      } catch (error) {
        throw clean(ofNoNode(error));
      }
    }

    #placeOf(given: Options | undefined): Place {
      const config = merged(this.config, given);
      const outer = holdIn(config)?.place;
      return placeIn(config, { checkpointer: this.checkpointer, outer, inside: isInside(config), scopeOf });
    }

    async #mustAsk({ threadId }: Place, configurable: NonNullable<Options["configurable"]>): Promise<void> {
      const { tasks } = await super.getState({ configurable });
      if (!tasks.some(({ interrupts }) => interrupts.length > 0)) throw nothingAsked(threadId);
    }
  }
  return new HeldGraph({ ...graph }) as unknown as G;
}

function nothingAsked(threadId: string): ToolgateError {
  return new ToolgateError(
    "already_decided",
    `thread \`${threadId}\` asks nothing: it was answered already, or went on`,
    "run the thread without an answer to go on with it",
    { data: { threadId } },
  );
}

/** A graph's own configuration with that of one run or look. */
function merged(own: Options | undefined, given: Options | undefined): Options {
  return { ...own, ...given, configurable: { ...own?.configurable, ...given?.configurable } };
}

/** A configuration as it came, or out of a run's stream: whoever looks or writes from outside does it under no run. */
function looking(config: Options, place: Place | undefined): Options {
  const hold = place === undefined ? undefined : newHold({ place });
  return { ...config, configurable: { ...config.configurable, [HOLD]: hold } };
}

/** Whether the graph is part of another one: a run inside of a run, or a look that the other one's checkpointer is lent for. */
function isInside({ configurable = {} }: Options): boolean {
  const lent = configurable[LENT] as { readonly getTuple?: unknown } | undefined;
  return typeof configurable[INSIDE] === "function" || typeof lent?.getTuple === "function";
}

/** Where no node has run yet, LangGraph fails on its way to say that an update must name the node it is from. */
function ofNoNode(error: unknown): unknown {
  if (!(error instanceof TypeError)) return error;
  return new InvalidUpdateError('the update cannot be told to come from any node: specify "asNode"');
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

/** Where a node's run is; undefined where it is no run of this graph. */
export function placeOfRun(runtime: LangGraphRunnableConfig): Place | undefined {
  return holdIn(runtime)?.place;
}

/** The lease a node runs under; undefined where the graph is part of another one. */
export function leaseOf(runtime: LangGraphRunnableConfig): Lease | undefined {
  return holdIn(runtime)?.lease;
}

/** Whether the run that this task belongs to has stored this checkpoint, as it is before each task under `sync`. */
export function storedByRun(runtime: LangGraphRunnableConfig, checkpointId: string): boolean {
  return holdIn(runtime)?.saves?.isLast(checkpointId) === true;
}

function holdIn(config: Options | undefined): Hold | undefined {
  const hold = (config?.configurable as Record<string, unknown> | undefined)?.[HOLD];
  return typeof hold === "object" && hold !== null && holds.has(hold) ? (hold as Hold) : undefined;
}
