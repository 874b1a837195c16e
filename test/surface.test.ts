// What other programs rely on, pinned by literal: exports, error codes, node ids, reasons.

import { describe, expect, test } from "vitest";
import { KnownTool, Lock } from "../src/contracts/index.js";
import * as toolgate from "../src/index.js";
import * as testing from "../src/testing.js";

describe("surface", () => {
  test("the public door exports these values", () => {
    expect(Object.keys(toolgate).sort()).toEqual([
      "ApprovalItem",
      "Config",
      "Decision",
      "ERROR_CODES",
      "Finding",
      "Operation",
      "OperationItem",
      "OperationState",
      "Outcome",
      "OutcomeBy",
      "OutcomeStatus",
      "RejectedReason",
      "RunReport",
      "SettledReason",
      "ToolEntry",
      "ToolSnapshot",
      "ToolgateError",
      "ToolsReport",
      "UnknownItem",
      "createToolgate",
      "keptSecret",
      "loadConfig",
      "withKeptSecret",
    ]);
  });

  test("a host's `decide` may be any of these", async () => {
    const answers: toolgate.DecideAnswer[] = ["allow", "ask", "deny", { kind: "ask" }, { kind: "deny", reason: "no" }];
    const decide: toolgate.Decide = async ({ tool }: toolgate.DecideCall) => (tool === "x" ? "allow" : { kind: "ask" });
    const config = { store: { kind: "memory" } };
    const agent = await toolgate.createToolgate({ config, decide, decideTimeoutMs: 1_000 });
    expect(answers).toHaveLength(5);
    await agent.close();
  });

  test("the testing door exports these values", () => {
    expect(Object.keys(testing).sort()).toEqual(["createTestToolgate", "scriptedModel"]);
  });

  test("what a host asks of the ledger, and in whose name", async () => {
    const agent = await toolgate.createToolgate({ config: { store: { kind: "memory" } } });
    const inScope: toolgate.InScope = { scope: "acme" };
    expect(Object.keys(agent.ledger)).toEqual([
      "operations",
      "requests",
      "unknowns",
      "answer",
      "resolve",
      "accept",
      "acceptRestored",
      "threads",
    ]);
    expect(await agent.ledger.operations("t1", inScope)).toEqual([]);
    expect(await agent.ledger.requests(undefined, inScope)).toEqual([]);
    expect(await agent.ledger.unknowns("t1", inScope)).toEqual([]);
    expect(await agent.ledger.threads(inScope)).toEqual([]);
    expect(await agent.snapshot("t1", inScope)).toBeUndefined();
    const missing = { code: "not_found" };
    const answer = agent.ledger.answer("x", { type: "approve" }, { approver: "ada", ...inScope });
    await expect(answer).rejects.toMatchObject(missing);
    await expect(agent.ledger.resolve("x", "leave", { by: "ada", ...inScope })).rejects.toMatchObject(missing);
    await agent.close();
  });

  test("error codes", () => {
    expect(toolgate.ERROR_CODES).toEqual([
      "already_decided",
      "already_running",
      "already_settled",
      "config_invalid",
      "config_unreadable",
      "config_variable",
      "empty_question",
      "invalid_answer",
      "model_failed",
      "model_missing",
      "not_found",
      "owner_alive",
      "question_too_long",
      "secret_missing",
      "server_failed",
      "stopped",
      "store_failed",
      "store_tampered",
      "store_version",
      "thread_invalid",
      "unsettled",
      "usage",
    ]);
  });

  test("what is reported of a tool, and what the lock file says of one", () => {
    const tools = toolgate.ToolsReport.shape.tools.element.shape;
    expect(Object.keys(tools)).toEqual(["alias", "server", "tool", "effect", "decision", "rules", "pinned", "news"]);
    expect(Object.keys(Lock.shape)).toEqual(["version", "servers", "digest"]);
    const known = ["name", "digest", "title", "description", "inputSchema", "outputSchema", "annotations"];
    expect(Object.keys(KnownTool.shape)).toEqual(known);
  });

  test("outcomes and reasons", () => {
    expect(toolgate.OutcomeStatus.options).toEqual(["ok", "rejected", "failed", "unavailable", "result_unknown"]);
    expect(toolgate.RejectedReason.options).toEqual([
      "denied",
      "person",
      "repeated_rejection",
      "edited",
      "withdrawn",
      "expired",
      "invalid_arguments",
      "unknown_tool",
      "drift",
      "halted",
      "budget",
      "other_thread",
      "durability",
      "server",
    ]);
    expect(toolgate.OutcomeBy.options).toEqual([
      "policy",
      "person",
      "schema",
      "drift",
      "budget",
      "halt",
      "expiry",
      "server",
      "host",
    ]);
    expect(toolgate.OperationState.options).toEqual(["proposed", "claimed", "dispatching", "settled"]);
  });
});
