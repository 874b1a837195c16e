// A conditional edge that is not a run of its own. LangGraph wraps a plain function in a runnable that opens a run, with
// its callbacks and its place in the trace, at every step; a choice between two nodes has nothing to say there.

import { Runnable } from "@langchain/core/runnables";

class Route<State, To extends string> extends Runnable<State, To> {
  lc_namespace = ["toolgate"];
  readonly #choose: (state: State) => To;

  constructor(name: string, choose: (state: State) => To) {
    super();
    this.name = name;
    this.#choose = choose;
  }

  async invoke(state: State): Promise<To> {
    return this.#choose(state);
  }
}

/** `choose` says which node comes next. LangGraph shows the edge under its name. */
export function route<State, To extends string>(choose: (state: State) => To, name = choose.name): Runnable<State, To> {
  return new Route(name, choose);
}
