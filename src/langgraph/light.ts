// Light runnables: nodes and conditional edges without a context of their own. LangGraph wraps a plain function in a runnable
// that makes a LangChain context for whatever runs inside of it, at every step, with ids and times of its own. A choice
// between two nodes, and a node that calls no model, no tool and no `interrupt()`, has nothing to put there.

import { Runnable, type RunnableConfig } from "@langchain/core/runnables";

class Light<Input, Output> extends Runnable<Input, Output> {
  lc_namespace = ["toolgate"];
  readonly #call: (input: Input, config: RunnableConfig) => Output | Promise<Output>;

  constructor(name: string, call: (input: Input, config: RunnableConfig) => Output | Promise<Output>) {
    super();
    this.name = name;
    this.#call = call;
  }

  async invoke(input: Input, config: RunnableConfig = {}): Promise<Output> {
    return this.#call(input, config);
  }
}

/** `choose` says which node comes next. LangGraph shows the edge under its name. */
export function route<State, To extends string>(choose: (state: State) => To, name = choose.name): Runnable<State, To> {
  return new Light(name, choose);
}

/** **Contract:** the node calls nothing of LangChain's or LangGraph's, so that it needs no context. */
export function light<State, Update, Config extends RunnableConfig>(
  name: string,
  node: (state: State, config: Config) => Update | Promise<Update>,
): Runnable<State, Update> {
  return new Light<State, Update>(name, (state, config) => node(state, config as Config));
}
