// What a hostile server does when a tool is called. The behaviours are described in hostile-config.ts.
//
//   A call is logged as accepted before anything else, its effect before anything that follows it (log.ts).
//   hostile-calls-1. A cancel is logged and has no other consequence.

import { setTimeout as delay } from "node:timers/promises";
import { operationIdOf, type ServerEvent, type ServerLog } from "../../../servers/log.js";
import type { Behaviour, HostileConfig } from "./hostile-config.js";
import { answerText, noise, type Received, type ReplyParts, type Wire } from "./hostile-wire.js";

type CallFacts = { n: number; tool: string; arguments: unknown; operationId?: string };
type Asked = { id: unknown; facts: CallFacts; wire: Wire; meta: unknown };
type ClientAnswer = { result?: unknown; error?: unknown };

export interface HostileCalls {
  call(id: unknown, params: Record<string, unknown>, wire: Wire): Promise<Received>;
  /** Hands over the client's answer to a request of the server. */
  answered(id: unknown, answer: ClientAnswer): void;
  /** Says that the client let go of a request. */
  cancelled(requestId: unknown, reason: string): void;
  /** How many calls have been accepted. */
  readonly count: number;
}

const done = { content: [{ type: "text", text: "done" }] };

/** `effects` gives what the log says was done so far. `accepted` runs between the log of a call and its behaviour. */
export function hostileCalls(
  config: HostileConfig,
  log: ServerLog,
  effects: () => readonly ServerEvent[],
  accepted: () => Promise<void>,
): HostileCalls {
  const running = new Map<unknown, CallFacts>();
  const asked = new Map<unknown, (answer: ClientAnswer) => void>();
  const callsByTool = new Map<string, number>();
  let calls = 0;

  async function call(id: unknown, params: Record<string, unknown>, wire: Wire): Promise<Received> {
    const tool = String(params.name);
    calls += 1;
    const facts = { n: calls, tool, arguments: params.arguments, ...operationIdOf(params._meta) };
    log({ event: "accepted", ...facts });
    running.set(id, facts);
    await accepted();
    try {
      return await behave(behaviourOf(tool), { id, facts, wire, meta: params._meta });
    } finally {
      running.delete(id);
    }
  }

  function behaviourOf(tool: string): Behaviour {
    const nth = callsByTool.get(tool) ?? 0;
    callsByTool.set(tool, nth + 1);
    const own = Object.hasOwn(config.calls, tool) ? config.calls[tool] : config.calls["*"];
    if (own === undefined) return { do: "answer", effect: true };
    return Array.isArray(own) ? (own[Math.min(nth, own.length - 1)] as Behaviour) : own;
  }

  function effect(facts: CallFacts): void {
    const before = config.idempotent ? effects() : [];
    const repeated = facts.operationId !== undefined && before.some((e) => e.operationId === facts.operationId);
    if (!repeated) log({ event: "effect", ...facts });
  }

  async function behave(behaviour: Behaviour, { id, facts, wire, meta }: Asked): Promise<Received> {
    const finish = async (text: string | Buffer): Promise<Received> => {
      log({ event: "finished", n: facts.n, tool: facts.tool });
      await wire.write(text);
      return "done";
    };
    const answer = (parts: ReplyParts): string => answerText(config.protocol, id, parts);
    const text = (words: string): string => answer({ result: { content: [{ type: "text", text: words }] } });
    const reply = (parts: ReplyParts): string =>
      answer(parts.error === undefined && parts.result === undefined ? { result: done, ...parts } : parts);
    const act = (): void => {
      if (!("effect" in behaviour) || behaviour.effect) effect(facts);
    };

    switch (behaviour.do) {
      case "answer":
        act();
        return finish(reply(behaviour));
      case "slow":
        act();
        await delay(behaviour.ms);
        return finish(reply(behaviour));
      case "late":
        await delay(behaviour.ms);
        act();
        return finish(reply(behaviour));
      case "silent":
        act();
        return "open";
      case "progress":
        act();
        await progress(behaviour, meta, wire);
        return finish(reply(behaviour));
      case "dieBefore":
        wire.die(behaviour.by);
        return "open";
      case "dieAfter":
        act();
        await delay(behaviour.ms);
        wire.die(behaviour.by);
        return "open";
      case "halfLine":
        act();
        await wire.writeHalf(text("done"));
        wire.die(behaviour.by);
        return "open";
      case "noise":
        act();
        await noise(behaviour, wire);
        return finish(reply(behaviour));
      case "huge":
        act();
        return finish(text("x".repeat(behaviour.bytes)));
      case "twice":
        act();
        log({ event: "finished", n: facts.n, tool: facts.tool });
        await wire.write(reply(behaviour));
        await wire.write(behaviour.second === undefined ? reply(behaviour) : reply({ result: behaviour.second }));
        return "done";
      case "wrongId":
        act();
        await wire.write(answerText(config.protocol, behaviour.id, { result: done, ...behaviour }));
        return "done";
      case "stderrFlood":
        act();
        await flood(behaviour.text + "x".repeat(behaviour.bytes));
        return finish(reply(behaviour));
      case "badUtf8":
        act();
        return finish(Buffer.from(text("\u00b0\u00a1"), "latin1"));
      case "split": {
        act();
        log({ event: "finished", n: facts.n, tool: facts.tool });
        const bytes = Buffer.from(text("caf\u00e9"));
        await wire.writeSplit(bytes, bytes.indexOf(0xc3) + 1, behaviour.ms);
        return "done";
      }
      case "ask":
        act();
        await ask(behaviour.method, behaviour.params, facts, wire);
        return finish(reply(behaviour));
      case "env":
        return finish(text(JSON.stringify({ env: process.env, argv: process.argv, cwd: process.cwd() })));
      case "lookup": {
        const wanted = (facts.arguments as Record<string, unknown> | undefined)?.[behaviour.argument];
        const happened = effects().some(({ operationId }) => operationId !== undefined && operationId === wanted);
        return finish(answer({ result: happened ? behaviour.happened : behaviour.absent }));
      }
      case "status": {
        act();
        const location = behaviour.location === undefined ? {} : { location: behaviour.location };
        await wire.status?.(behaviour.status, { ...behaviour.headers, ...location }, behaviour.body);
        return "done";
      }
      case "drop":
        act();
        if (behaviour.when === "half-body") await wire.writeHalf(text("done"));
        await wire.drop?.(behaviour.when !== "before-headers");
        return "done";
    }
  }

  async function ask(method: string, params: unknown, facts: CallFacts, wire: Wire): Promise<void> {
    const id = `hostile-${facts.n}`;
    const answer = new Promise<ClientAnswer>((resolve) => asked.set(id, resolve));
    await wire.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    const { result, error } = await answer;
    log({ event: "reply", n: facts.n, tool: facts.tool, answer: error === undefined ? { result } : { error } });
  }

  function cancelled(requestId: unknown, reason: string): void {
    const facts = running.get(requestId);
    if (facts !== undefined) log({ event: "cancelled", n: facts.n, tool: facts.tool, reason }); // hostile-calls-1
  }

  return {
    call,
    cancelled,
    answered: (id, answer) => asked.get(id)?.(answer),
    get count() {
      return calls;
    },
  };
}

async function progress(say: { everyMs: number; ms?: number | undefined }, meta: unknown, wire: Wire): Promise<void> {
  const progressToken = (meta as Record<string, unknown> | undefined)?.progressToken;
  const end = say.ms ?? Number.POSITIVE_INFINITY;
  for (let passed = 0; passed < end; passed += say.everyMs) {
    await delay(Math.min(say.everyMs, end - passed));
    const params = { progressToken, progress: passed + say.everyMs };
    await wire.write(JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params }));
  }
}

function flood(text: string): Promise<void> {
  return new Promise((resolve) => process.stderr.write(text, () => resolve()));
}
