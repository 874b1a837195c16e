// Server: the one fake MCP server of a run. It does what it is told, keeps its own record of it, and treats some calls as
// the plan says. It outlives hosts; what was sent to it happens whoever is still there to hear of it.

import type { JsonObject } from "../../src/contracts/index.js";
import type { RawResponse } from "../../src/contracts/mcp-port.js";
import { canonical, strike } from "./facts.js";
import type { AnswerKind, ToolPlan } from "./plan.js";
import type { World } from "./world.js";

export const SERVER = "desk";
/** The read that tells what became of an operation. */
export const FATE = "fate";

export function aliasOf(tool: string): string {
  return `mcp__${SERVER}__${tool}`;
}

/** What comes back over the wire, and when: milliseconds after the request was sent. */
export interface Reaction {
  readonly after: number;
  /** How the call was treated after all. */
  readonly as: AnswerKind | "plain";
  readonly what: "response" | "closed" | "http" | "nothing";
  readonly response?: RawResponse;
  readonly httpStatus?: number;
  readonly tooLarge?: boolean;
}

export interface Arrival {
  readonly tool: string;
  readonly args: JsonObject;
  readonly operationId: string;
  readonly deadlineMs: number;
  readonly listenMs: number;
}

export interface Server {
  /** How the next call will be treated, drawn when it is sent. */
  next(tool: string): AnswerKind | "plain";
  /** Takes a call: the effect, if there is one, and the reaction. */
  take(how: AnswerKind | "plain", arrival: Arrival): Reaction;
  list(): { readonly ok: true; readonly tools: readonly unknown[] } | { readonly ok: false; readonly problem: string };
  /** Whether a connection can be made. */
  connects(): boolean;
  /** Rises with every change of the list and every death. */
  readonly generation: number;
  /** Deaths so far: older connections are closed. */
  readonly deaths: number;
  /** Whether an operation took effect. */
  happened(operationId: string): boolean;
}

export function createServer(world: World): Server {
  const { facts, history, random, timeline } = world;
  const done = new Set<string>();
  /** Operations of which it said that they will not happen any more. */
  const refused = new Set<string>();
  const counts = { calls: 0, lists: 0, connects: 0 };
  let version = 1;
  let generation = 1;
  let deaths = 0;

  const act = (tool: ToolPlan, { args, operationId }: Arrival) => {
    if (refused.has(operationId)) return false;
    done.add(operationId);
    facts.effects.push({ operationId, tool, args });
    if (tool.effect === "write")
      history.say("server", `does ${tool.name} ${canonical(args)}: ${history.name("op", operationId)} takes effect`);
    return true;
  };

  const fate = (operationId: string): Reaction => {
    const carriedOut = done.has(operationId);
    const final = carriedOut || random.chance(0.6);
    if (!carriedOut && final) refused.add(operationId);
    facts.readBacks.push({ operationId, found: carriedOut ? "happened" : final ? "did_not_happen" : "nothing" });
    history.say(
      "server",
      `says of ${history.name("op", operationId)}: ${carriedOut ? "done" : final ? "never" : "not yet"}`,
    );
    return {
      after: random.next() * 50,
      as: "plain",
      what: "response",
      response: { result: fateAnswer(carriedOut, final) },
    };
  };

  return {
    get generation() {
      return generation;
    },
    get deaths() {
      return deaths;
    },
    happened: (operationId) => done.has(operationId),

    next(name) {
      if (name === FATE) return "plain";
      counts.calls += 1;
      const fault = world.serverFault("answer", counts.calls);
      if (fault?.kind !== "answer") return "plain";
      strike(facts, `answer ${fault.how}`);
      return fault.how;
    },

    take(how, arrival) {
      if (arrival.tool === FATE) return fate(String(arrival.args["operation_id"]));
      const tool = world.plan.tools.find((one) => one.name === arrival.tool);
      const takes = random.next() * 200;
      const says = (as: Reaction["as"], response: RawResponse, after = takes): Reaction => ({
        after,
        as,
        what: "response",
        response,
      });
      if (tool === undefined) return says("plain", { error: { code: -32602, message: "no such tool" } });
      const honest = tool.errors === "honest"; // vouched for: its errors mean that nothing was changed
      /** Does it, and says so in these words; or that it was called off. */
      const does = (as: Reaction["as"], result: unknown = goodAnswer(tool), after = takes) =>
        act(tool, arrival) ? says(as, { result }, after) : says("is_error", isError("it was called off"), after);
      switch (how) {
        case "plain":
          return does("plain");
        case "not_sent":
        case "refused":
          return { after: 0, as: how, what: "nothing" };
        case "turned_away":
          return { after: takes, as: how, what: "http", httpStatus: 401 };
        case "dies_before":
        case "dies_after":
          if (how === "dies_after") act(tool, arrival);
          deaths += 1;
          generation += 1;
          history.say("server", "dies and is started again");
          return { after: takes, as: how, what: "closed" };
        case "lost_before":
        case "lost_after":
          if (how === "lost_after") act(tool, arrival);
          return { after: 0, as: how, what: "nothing" };
        case "late":
          return does("plain", goodAnswer(tool), arrival.deadlineMs + 0.5 * arrival.listenMs);
        case "too_late":
          return does("plain", goodAnswer(tool), arrival.deadlineMs + 2 * arrival.listenMs + 1_000);
        case "slow_effect":
          timeline.after(arrival.deadlineMs + 20_000, () => void act(tool, arrival));
          return { after: 0, as: how, what: "nothing" };
        case "rpc_error":
        case "rpc_error_after":
          if (how === "rpc_error_after" && !honest) act(tool, arrival);
          return says(how, { error: { code: -32000, message: "something went wrong" } });
        case "is_error":
        case "is_error_after":
          if (how === "is_error_after" && (!honest || tool.contract)) act(tool, arrival);
          return says(how, isError("something went wrong"));
        case "malformed":
          act(tool, arrival);
          return says(how, { result: 7 });
        case "too_large":
          act(tool, arrival);
          return { ...says(how, { result: {} }), tooLarge: true };
        case "unfinishable":
          return says(how, { result: { resultType: "input_required", inputRequests: {} } });
        case "wrong_schema":
          return does(how, { content: [{ type: "text", text: "done" }], structuredContent: { other: true } });
        case "says_failed":
        case "says_rejected":
          return tool.contract ? says(how, { result: statusAnswer(how) }) : does("plain");
        case "says_unknown":
        case "says_nonsense":
        case "says_both":
          return tool.contract ? does(how, statusAnswer(how)) : does("plain");
      }
    },

    list() {
      counts.lists += 1;
      if (world.serverFault("drift", counts.lists)) {
        strike(facts, "drift");
        version += 1;
        generation += 1;
        history.say("server", "changes its tools");
      }
      if (world.serverFault("list_fails", counts.lists)) {
        strike(facts, "list_fails");
        return { ok: false, problem: "the list did not come" };
      }
      return { ok: true, tools: definitions(world.plan.tools, version) };
    },

    connects() {
      counts.connects += 1;
      if (!world.serverFault("connect_fails", counts.connects)) return true;
      strike(facts, "connect_fails");
      return false;
    },
  };
}

function definitions(tools: readonly ToolPlan[], version: number): JsonObject[] {
  const named = tools.map(
    (tool): JsonObject => ({
      name: tool.name,
      description: `Does ${tool.name}, as of version ${version}.`,
      inputSchema: {
        type: "object",
        properties: { n: { type: "number" }, ...(tool.keyed ? { operation_id: { type: "string" } } : {}) },
        required: ["n", ...(tool.keyed ? ["operation_id"] : [])],
      },
      ...(tool.outputSchema
        ? { outputSchema: { type: "object", properties: { done: { type: "boolean" } }, required: ["done"] } }
        : {}),
    }),
  );
  const fate = {
    name: FATE,
    description: "Tells what became of an operation.",
    inputSchema: { type: "object", properties: { operation_id: { type: "string" } }, required: ["operation_id"] },
  };
  return [...named, fate];
}

function goodAnswer(tool: ToolPlan): JsonObject {
  const structured = { ...(tool.contract ? { status: "ok" } : {}), ...(tool.outputSchema ? { done: true } : {}) };
  const content = [{ type: "text", text: "done" }];
  return Object.keys(structured).length > 0 ? { content, structuredContent: structured } : { content };
}

function statusAnswer(how: AnswerKind): JsonObject {
  const content = [{ type: "text", text: how }];
  switch (how) {
    case "says_failed":
      return { content, structuredContent: { status: "failed", message: "it did not work" } };
    case "says_rejected":
      return { content, structuredContent: { status: "rejected", message: "not allowed" } };
    case "says_unknown":
      return { content, structuredContent: { status: "result_unknown" } };
    case "says_both":
      return { content, structuredContent: { status: "ok" }, isError: true };
    default:
      return { content, structuredContent: { status: "splendid" } };
  }
}

function isError(text: string): RawResponse {
  return { result: { content: [{ type: "text", text }], isError: true } };
}

function fateAnswer(carriedOut: boolean, final: boolean): JsonObject {
  const structuredContent = { data: { carried_out: carriedOut, final } };
  return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent };
}
