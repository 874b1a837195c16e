// Servers: a host's way to the fake server, with the facts that a transport leaves behind. What is sent goes on by itself;
// what comes back comes through a port, so that the host can be struck before and after it.

import type { JsonObject } from "../../src/contracts/index.js";
import type { Call, CallEvidence, CallRequest, ServerConnection, Servers } from "../../src/contracts/mcp-port.js";
import { canonical, type Meaning, meaningOf, type Send } from "./facts.js";
import { type Reaction, SERVER, type Server } from "./server.js";
import type { Process, World } from "./world.js";

/** Looked at when a request leaves, before anything else happens. */
export type AtSend = (send: Send) => Promise<void>;

export function createServers(world: World, process: Process, server: Server, atSend: AtSend): Servers {
  let connection: ServerConnection | undefined;
  let opened = 0;
  return {
    names: [SERVER],
    connection: () => (connection?.closed ? undefined : connection),
    generation: () => server.generation + opened,
    onEvent: () => () => undefined,
    close: async () => undefined,
    connect: (name) =>
      connection && !connection.closed
        ? Promise.resolve({ ok: true, connection })
        : process.port("server.connect", () => {
            if (name !== SERVER || !server.connects()) return { ok: false, problem: "it cannot be reached" } as const;
            opened += 1;
            connection = connectionOf(world, process, server, atSend);
            return { ok: true, connection } as const;
          }),
  };
}

function connectionOf(world: World, process: Process, server: Server, atSend: AtSend): ServerConnection {
  const life = server.deaths;
  return {
    name: SERVER,
    protocol: "2025-11-25",
    serverInfo: { name: SERVER, version: "1" },
    get closed() {
      return server.deaths !== life;
    },
    listPage: () =>
      process.port("server.list", () => {
        const listed = server.deaths === life ? server.list() : { ok: false as const, problem: "closed" };
        return listed.ok ? { ...listed, bytes: 1_000 } : listed;
      }),
    call: (request) => callOf(world, process, server, atSend, request, () => server.deaths === life),
  };
}

const SENT = { attempted: true, refused: false } as const;

function callOf(
  world: World,
  process: Process,
  server: Server,
  atSend: AtSend,
  request: CallRequest,
  open: () => boolean,
): Call {
  const { timeline, history, facts } = world;
  const tool = world.plan.tools.find((one) => one.name === request.tool);
  const operationId = String(request.meta["toolgate/operationId"] ?? "");
  const write = tool?.effect === "write";
  const tell = (meaning: Meaning, what: string) => {
    if (!write) return;
    facts.told.set(operationId, [...(facts.told.get(operationId) ?? []), meaning]);
    history.say(process.name, `is told of ${history.name("op", operationId)}: ${what}`);
  };
  let answer = (_evidence: CallEvidence): void => undefined;
  const evidence = new Promise<CallEvidence>((resolve) => {
    answer = resolve;
  });
  let answerLate = (_evidence: CallEvidence | undefined): void => undefined;
  const late = new Promise<CallEvidence | undefined>((resolve) => {
    answerLate = resolve;
  });
  let state: "waiting" | "listening" | "over" = "waiting";
  const settle = (given: CallEvidence, meaning: Meaning, what: string) => {
    if (state === "over") return;
    tell(meaning, state === "listening" ? `${what}, late` : what);
    if (state === "listening") answerLate(given);
    else {
      answer(given);
      answerLate(undefined);
    }
    state = "over";
  };

  void process.port("server.call", async () => {
    if (!open()) return settle({ attempted: false, refused: false, how: "closed" }, "unavailable", "nothing was sent");
    if (!request.maySend()) {
      return settle({ attempted: false, refused: false, how: "error" }, "unavailable", "it may not send any more");
    }
    const how = server.next(request.tool);
    if (how === "not_sent" || how === "refused") {
      const attempted = how === "refused";
      return settle({ attempted, refused: attempted, how: "error" }, "unavailable", "nothing was sent");
    }
    const args = withoutKey(request.arguments);
    if (write)
      history.say(process.name, `sends ${history.name("op", operationId)}: ${request.tool} ${canonical(args)}`);
    if (tool) await atSend({ operationId, tool, args, host: process.name, at: timeline.now });
    const { deadlineMs, keepListeningMs } = request;
    timeline.after(world.random.next() * 5, () => {
      const arrival = { tool: request.tool, args: tool ? args : request.arguments, operationId, deadlineMs };
      const reaction = server.take(how, { ...arrival, listenMs: keepListeningMs });
      if (reaction.what === "nothing") return;
      timeline.after(reaction.after, () => {
        void process.port("server.answer", () => receive(reaction), 0);
      });
    });
    process.wake(deadlineMs, () => {
      if (state !== "waiting") return;
      state = "listening";
      tell("result_unknown", "no answer before the deadline");
      answer({ ...SENT, how: "deadline" });
      process.wake(keepListeningMs, () => {
        if (state === "listening") state = "over";
        answerLate(undefined);
      });
    });
  });

  const receive = (reaction: Reaction) => {
    const meaning: Meaning = tool ? meaningOf(reaction.as, tool) : "ok";
    switch (reaction.what) {
      case "response": {
        const { response, tooLarge } = reaction;
        const given = { ...SENT, how: "response", bytes: 100, ...(tooLarge ? { tooLarge } : { response }) };
        return settle(given as CallEvidence, meaning, reaction.as);
      }
      case "closed":
        return settle({ ...SENT, how: "closed" }, meaning, "the connection was lost");
      case "http":
        return settle({ ...SENT, how: "error", httpStatus: 401, tokenRefused: true }, meaning, "HTTP 401");
      case "nothing":
        return;
    }
  };
  return { evidence, late };
}

/** The arguments as a person approves them: without what the host fills in. */
function withoutKey({ operation_id: _, ...args }: JsonObject): JsonObject {
  return args;
}
