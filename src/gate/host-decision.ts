// Host decision: what the host's own `decide` says of a call that its rules would run or ask about.
//
// The rules are pure, and this is not: a function of the host's is asked, which may look up anything. So each judgement names
// what it wants. The gate and `execute` ask anew; `approval` takes the answer that this process has, and asks only where it
// has none; whatever closes a call asks nobody.
//
//   host-1. It tightens only: an allow may become an ask or a deny, and an ask a deny.
//   host-2. Silence denies: an error, no answer within the deadline, undefined and every answer that is none.
//   host-3. Of several answers about one call the strictest one holds, as long as this process knows them. What was asked about
//           waits for its answer in every process: the ledger holds the question.

import { deepFreeze } from "../catalog/freeze.js";
import {
  type Decision,
  type DecisionKind,
  type Digest,
  type EffectClass,
  type JsonObject,
  oneLine,
} from "../contracts/index.js";

/** A call as the host's `decide` is told of it. Frozen to the bottom. */
export interface DecideCall {
  /** The name the model called. */
  readonly alias: string;
  /** A key of `mcpServers`, or `local` for built-ins and the host's own tools. */
  readonly server: string;
  /** The server's own name for the tool. */
  readonly tool: string;
  /** A copy: what the host holds is not what is sent. Without what the host injects. */
  readonly arguments: JsonObject;
  readonly effect: EffectClass;
  /** What the rules say: allow or ask. What they deny is not put to the host. */
  readonly decision: Decision;
  readonly threadId: string;
  readonly scope: string;
  /** Whom `identify` names in this run; `unauthenticated` when nobody is known. */
  readonly identity: string;
}

export type DecideAnswer = DecisionKind | { readonly kind: DecisionKind; readonly reason?: string };

/** The host's own word on a call. See `ToolgateOptions.decide`. */
export type Decide = (call: DecideCall, options: { readonly signal: AbortSignal }) => Promise<DecideAnswer>;

/** Whether a judgement asks the host anew, takes a known answer or asks, or takes a known answer or goes without. */
export type HostAsked = "anew" | "once" | "never";

export interface HostDecision {
  /** The rules' decision, or a stricter one. Never rejects. (host-1) */
  of(id: Digest, call: DecideCall, asked: HostAsked): Promise<Decision>;
}

export interface HostDecisionDeps {
  /** Milliseconds that the host has for one answer. */
  readonly timeoutMs: number;
  /** `elapsed` resolves after so many milliseconds, or as soon as `cancel` is called. */
  readonly after: (ms: number) => { readonly elapsed: Promise<void>; readonly cancel: () => void };
  /** Removes secrets from text. */
  readonly redact: (text: string) => string;
}

/** Calls whose answers are remembered. */
const KEPT = 4_096;
const STRICTNESS: Readonly<Record<DecisionKind, number>> = { allow: 0, ask: 1, deny: 2 };

export function hostDecision(decide: Decide, deps: HostDecisionDeps): HostDecision {
  const known = new Map<string, Decision>();
  return {
    async of(id, call, asked) {
      const key = JSON.stringify([call.scope, call.threadId, id]);
      const before = known.get(key);
      if (asked === "never" || (asked === "once" && before !== undefined)) return stricter(call.decision, before);
      const answer = await answerOf(decide, call, deps);
      const held = stricter(answer, known.get(key)); // host-3: another run of the thread may have asked meanwhile
      known.delete(key);
      known.set(key, held);
      if (known.size > KEPT) known.delete(known.keys().next().value as string);
      return stricter(call.decision, held);
    },
  };
}

/** Of two decisions the stricter one; of equal ones the first. (host-1) */
function stricter(one: Decision, other: Decision | undefined): Decision {
  return other !== undefined && STRICTNESS[other.kind] > STRICTNESS[one.kind] ? other : one;
}

async function answerOf(
  decide: Decide,
  call: DecideCall,
  { timeoutMs, after, redact }: HostDecisionDeps,
): Promise<Decision> {
  const stop = new AbortController();
  const timer = after(timeoutMs);
  const silent = timer.elapsed.then(() => denied(`did not answer within ${timeoutMs} ms`));
  const own = deepFreeze({
    ...call,
    arguments: structuredClone(call.arguments),
    decision: structuredClone(call.decision),
  });
  try {
    const answered = Promise.resolve().then(async () => read(await decide(own, { signal: stop.signal }), redact));
    return await Promise.race([answered, silent]);
  } catch {
    return denied("failed"); // what it threw may hold anything
  } finally {
    stop.abort();
    timer.cancel();
  }
}

/** What the host said, as a decision. (host-2) */
function read(answer: unknown, redact: (text: string) => string): Decision {
  const object = typeof answer === "object" && answer !== null ? (answer as { kind?: unknown; reason?: unknown }) : {};
  const kind = typeof answer === "string" ? answer : object.kind;
  const { reason } = object;
  const why = typeof reason === "string" && reason.trim() !== "" ? `: ${oneLine(redact(reason))}` : "";
  switch (kind) {
    case "allow":
      return { kind, rules: [], reason: `allowed by the host's \`decide\`${why}` };
    case "ask":
      return { kind, rules: [], reason: `asked about by the host's \`decide\`${why}` };
    case "deny":
      return { kind, rules: [], reason: `denied by the host's \`decide\`${why}` };
    default:
      return denied("gave no answer that is `allow`, `ask` or `deny`");
  }
}

function denied(what: string): Decision {
  return { kind: "deny", rules: [], reason: `denied: the host's \`decide\` ${what}` };
}
