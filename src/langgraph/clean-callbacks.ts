// Callbacks: the handlers of a run (the host's own, LangSmith's) as they are handed to a model or to a tool of the host. They
// hear of its error, and of a tool's output, before toolgate does, so what they hear is redacted on its way to them.
//
//   callbacks-1. A handler hears the same events as before. Errors, and what goes into a tool and comes out of it, hold no
//                secret of the configuration.

import type { Callbacks } from "@langchain/core/callbacks/manager";
import { ToolMessage } from "@langchain/core/messages";
import { redactedError } from "../observation/index.js";

type Redact = (text: string) => string;

/** What a handler is told in these events is text of a provider, of a tool or of an error. */
const TOLD: ReadonlySet<string | symbol> = new Set([
  "handleLLMError",
  "handleChainError",
  "handleToolError",
  "handleRetrieverError",
  "handleToolStart",
  "handleToolEnd",
  "handleToolEvent",
  "handleText",
]);

/** What makes another handler of this one: for each model LangChain copies LangSmith's, with metadata of its own. */
const COPIES: ReadonlySet<string | symbol> = new Set(["copy", "copyWithTracingConfig"]);

/** The same callbacks. None are given where a run has none. */
export function cleanCallbacks(callbacks: Callbacks | undefined, redact: Redact): { callbacks?: Callbacks } {
  if (callbacks === undefined) return {};
  const known = new Map<object, object>(); // a manager knows by identity which of its handlers are inherited
  const told = <T extends object>(handler: T): T => {
    const one = known.get(handler) ?? hearing(handler, redact);
    known.set(handler, one);
    return one as T;
  };
  if (Array.isArray(callbacks)) return { callbacks: callbacks.map(told) };
  const manager = callbacks.copy();
  manager.handlers = manager.handlers.map(told);
  manager.inheritableHandlers = manager.inheritableHandlers.map(told);
  return { callbacks: manager };
}

/** The handler itself but for what it is told. Its methods run on the handler, because some keep private fields. */
function hearing<T extends object>(handler: T, redact: Redact): T {
  return new Proxy(handler, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function" || key === "constructor") return value;
      if (COPIES.has(key)) return (...how: unknown[]) => hearing(value.apply(target, how) as object, redact);
      if (!TOLD.has(key)) return value.bind(target);
      return (...told: unknown[]) =>
        value.apply(
          target,
          told.map((one) => clean(one, redact)),
        );
    },
  });
}

/** A text, an error, data or a tool's message without secrets. */
function clean(told: unknown, redact: Redact): unknown {
  if (!ToolMessage.isInstance(told)) return redactedError(told, redact);
  const { content, artifact } = told;
  const shown = redactedError({ content, artifact }, redact);
  if (shown.content === content && shown.artifact === artifact) return told;
  return Object.assign(Object.create(Object.getPrototypeOf(told)), told, shown, {
    lc_kwargs: { ...told.lc_kwargs, ...shown },
  });
}
