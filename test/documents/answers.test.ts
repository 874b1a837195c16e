// The document workspace, what answers are worth: a read without a usable one is unavailable, a write is unknown until
// the read-back or a person settles it. Over both protocol versions, with real processes that answer badly, late or not
// at all.

import { describe, expect, test } from "vitest";
import { definitions } from "../../servers/documents/contracts.js";
import { createMemoryLedger } from "../../src/adapters/memory/ledger.js";
import { steadyMs } from "../../src/adapters/process/clock.js";
import { createOwner } from "../../src/adapters/process/owner.js";
import type { Ledger } from "../../src/ledger/port.js";
import { bench, type Turn } from "../support/agent.js";
import { formatProblems } from "../support/provider-format.js";
import { answer, answers, call, DONE, desk, outcomes, READ, SAMPLED, SEARCH, said, save, toolText } from "./desk.js";

const b = bench();

const REPORT = "# Report\n\nRepair pier 2 for 18 400 €.\n";
const accepted = () => b.log("accepted").map((event) => event.tool);
const effects = () => b.log("effect").map((event) => event.tool);

interface UnknownShown {
  readonly operationId: string;
  readonly evidence: { readonly readBack?: { readonly found: string; readonly detail: string } };
}
const unknowns = (turn: Turn) => (turn.interrupt as unknown as { unknowns: readonly UnknownShown[] }).unknowns;
const resolve = (turn: Turn, type: string) => ({
  resolutions: Object.fromEntries(unknowns(turn).map(({ operationId }) => [operationId, { type }])),
});

/** Read-backs, as a hostile server answers them. */
const cannotTell = answers(said("ok", { carried_out: null, final: false, detail: "the folder is busy" }));
const looksIntoLog = {
  do: "lookup",
  happened: said("ok", { carried_out: true, final: true, detail: "it is there" }),
  absent: said("ok", { carried_out: false, final: true, detail: "it never began" }),
};

describe.each(SAMPLED)("what answers of the document workspace are worth, over MCP %s", (protocol) => {
  const w = desk(b, protocol);

  const exact = {
    content: [{ type: "text", text: "x" }],
    structuredContent: { status: "ok", message: "x", data: null },
  };
  const { structuredContent } = exact;
  const bad: readonly [what: string, result: object, reason: string][] = [
    ["above 32,000 bytes", { ...exact, content: [{ type: "text", text: "x".repeat(32_001) }] }, "too_large"],
    [
      "above 32,000 bytes in text and data together",
      {
        content: [{ type: "text", text: "x".repeat(17_000) }],
        structuredContent: { ...structuredContent, message: "x".repeat(17_000) },
      },
      "too_large",
    ],
    ["without structured content", { content: exact.content }, "output_schema"],
    ["with a field too many", { ...exact, structuredContent: { ...structuredContent, more: 1 } }, "output_schema"],
    ["with a field missing", { ...exact, structuredContent: { status: "ok", message: "x" } }, "output_schema"],
    [
      "with a status nobody knows",
      { ...exact, structuredContent: { ...structuredContent, status: "fine" } },
      "output_schema",
    ],
    [
      "with data of another kind",
      { ...exact, structuredContent: { ...structuredContent, data: "x" } },
      "output_schema",
    ],
  ];

  test.each(bad)(
    "a result %s: of a read unavailable, of the write unknown; a read-back that cannot tell asks a person (G7)",
    async (_, result, reason) => {
      const calls = {
        search_documents: answers(result),
        save_report: answers(result, true),
        get_operation: cannotTell,
      };
      const agent = await w.start(w.hostile({ calls }), [
        call(SEARCH, { query: "x" }, "search"),
        save("r.md", REPORT),
        DONE,
      ]);
      const question = await agent.ask("go");
      expect(outcomes(question)[0]).toBe(`search unavailable ${reason}`);
      expect(toolText(question, "search")).not.toContain("xxxx");

      const turn = await agent.resume(answer(question));
      expect(outcomes(turn)[1]).toBe(`save result_unknown ${reason}`);
      expect(accepted()).toEqual(["search_documents", "save_report", "get_operation"]);
      expect(unknowns(turn)).toMatchObject([{ evidence: { readBack: { found: "nothing", detail: "it is ok" } } }]);

      const settled = await agent.resume(resolve(turn, "happened"));
      expect(outcomes(settled)[1]).toBe("save ok resolved");
      expect(effects()).toEqual(["save_report"]);
      expect(formatProblems([...settled.messages])).toEqual([]);
    },
  );

  test("the documents server's own answer above 32,000 bytes is unavailable, one of 24,000 bytes is read whole", async () => {
    w.source("quotes.md", '"'.repeat(24_000)); // 48,000 bytes as JSON
    w.source("letters.md", "x".repeat(24_000));
    const agent = await w.start(w.server(), [
      call(READ, { filename: "quotes.md" }, "quotes"),
      call(READ, { filename: "letters.md" }, "letters"),
      DONE,
    ]);
    const turn = await agent.ask("go");
    expect(outcomes(turn)).toEqual(["quotes unavailable too_large", "letters ok contract"]);
    expect(toolText(turn, "letters")).toContain("x".repeat(24_000));
    expect(toolText(turn, "quotes")).not.toContain('""');
  });

  describe("`isError` on the write", () => {
    test.each([
      ["failed", "save failed contract"],
      ["rejected", "save rejected server"],
    ])("with the status `%s`: as it says, and no read-back", async (status, outcome) => {
      const calls = { save_report: answers(said(status)), get_operation: cannotTell };
      const agent = await w.start(w.hostile({ calls }), [save("r.md", REPORT), DONE]);
      const turn = await agent.resume(answer(await agent.ask("go")));
      expect(outcomes(turn)).toEqual([outcome]);
      expect(accepted()).toEqual(["save_report"]);
      expect(toolText(turn, "save")).toContain(`it is ${status}`);
    });

    test.each([
      ["without a status", { content: [{ type: "text", text: "disk on fire" }], isError: true }],
      ["with the status `result_unknown`", said("result_unknown")],
    ])("%s: unknown; the read-back that knows settles it and nobody is asked", async (_, result) => {
      const calls = { save_report: answers(result, true), get_operation: looksIntoLog };
      const agent = await w.start(w.hostile({ calls }), [save("r.md", REPORT), DONE]);
      const turn = await agent.resume(answer(await agent.ask("go")));
      expect(outcomes(turn)).toEqual(["save ok read_back"]);
      expect(turn.report.status).toBe("done");
      expect(effects()).toEqual(["save_report"]);
    });
  });

  describe("a connection that closes", () => {
    test("before the send: unavailable, nothing was sent, nobody is asked", async () => {
      const real = createMemoryLedger({ now: Date.now, steady: steadyMs, liveness: createOwner().liveness });
      const begin: Ledger["begin"] = async (...args) => {
        const begun = await real.begin(...args); // G5: `dispatching` is on disk, nothing is sent yet
        const { servers } = agent.toolgate.host;
        process.kill(b.log("started").at(-1)?.pid as number, "SIGKILL");
        while (servers.connection("documents") !== undefined) await new Promise(setImmediate);
        return begun;
      };
      const agent = await w.start(w.server(), [save("r.md", REPORT), DONE], {}, { ledger: { ...real, begin } });
      const turn = await agent.resume(answer(await agent.ask("go")));
      expect(outcomes(turn)).toEqual(["save unavailable not_sent"]);
      expect(turn.report).toMatchObject({ status: "done", operations: [{ sent: false }] });
      expect(accepted()).toEqual([]);
      expect(w.reports()).toEqual({});
    });

    test("after the send of a read: unavailable; the next call has a new connection", async () => {
      const read_document = answers(said("ok"));
      const hostile = w.hostile({ calls: { search_documents: { do: "dieBefore" }, read_document } });
      const agent = await w.start(hostile, [
        call(SEARCH, { query: "x" }, "search"),
        call(READ, { filename: "a.md" }, "read"),
        DONE,
      ]);
      const turn = await agent.ask("go");
      expect(outcomes(turn)).toEqual(["search unavailable connection_lost", "read ok contract"]);
      expect(accepted()).toEqual(["search_documents", "read_document"]);
    });

    test.each([
      ["dieBefore", "save failed read_back", []],
      ["dieAfter", "save ok read_back", ["save_report"]],
    ])(
      "after the send of the write (%s): the read-back goes to a new process and settles it",
      async (how, outcome, done) => {
        const calls = { save_report: { do: how }, get_operation: looksIntoLog };
        const agent = await w.start(w.hostile({ calls }), [save("r.md", REPORT), DONE]);
        const turn = await agent.resume(answer(await agent.ask("go")));
        expect(outcomes(turn)).toEqual([outcome]);
        expect(accepted()).toEqual(["save_report", "get_operation"]);
        expect(effects()).toEqual(done);
        expect(b.log("started")).toHaveLength(2);
      },
    );

    test("and a read-back that dies too says nothing of the write: a person is asked", async () => {
      const calls = { save_report: { do: "dieAfter" }, get_operation: { do: "dieBefore" } };
      const agent = await w.start(w.hostile({ calls }), [save("r.md", REPORT), DONE]);
      const turn = await agent.resume(answer(await agent.ask("go")));
      expect(outcomes(turn)).toEqual(["save result_unknown connection_lost"]);
      expect(unknowns(turn)).toMatchObject([{ evidence: { readBack: { found: "nothing" } } }]);
    });
  });

  describe("an answer of the documents server that is lost (G6)", () => {
    test("after the file was written: the read-back finds it; one file, nobody is asked", async () => {
      const agent = await w.start(w.server({ fault: "kill-after-write" }), [save("r.md", REPORT), DONE]);
      const turn = await agent.resume(answer(await agent.ask("go")));
      expect(outcomes(turn)).toEqual(["save ok read_back"]);
      expect(turn.report).toMatchObject({ status: "done", answer: "Done.", unknowns: [] });
      expect(w.reports()).toEqual({ "r.md": REPORT });
      expect(accepted()).toEqual(["save_report", "get_operation"]);
      expect(turn.messages.filter((message) => message.getType() === "tool")).toHaveLength(1);
    });

    test("before the file was made: the read-back says so for good, and the model may propose it anew", async () => {
      const server = w.server({ fault: "kill-after-journal" });
      const agent = await w.start(server, [save("r.md", REPORT), DONE]);
      const turn = await agent.resume(answer(await agent.ask("go")));
      expect(outcomes(turn)).toEqual(["save failed read_back"]);
      expect(turn.report).toMatchObject({ status: "done", unknowns: [] });
      expect(w.reports()).toEqual({});
      await agent.toolgate.close();

      const next = await w.start(w.server(), [save("r.md", REPORT), DONE, save("r.md", REPORT, "again"), DONE]);
      const second = await next.resume(answer(await next.ask("once more")));
      expect(outcomes(second)).toEqual(["again ok contract"]);
      expect(w.reports()).toEqual({ "r.md": REPORT });
    });

    test("with half a file left: it cannot tell; a person is asked with what stands there, and writes are halted", async () => {
      const server = w.server({ fault: "kill-after-create" });
      const steps = [save("r.md", REPORT), save("other.md", REPORT, "other"), DONE];
      const agent = await w.start(server, steps);
      const turn = await agent.resume(answer(await agent.ask("go")));
      expect(outcomes(turn)).toEqual(["save result_unknown connection_lost"]);
      expect(turn.report.status).toBe("result_unknown");
      const [open] = unknowns(turn);
      expect(open?.evidence.readBack).toMatchObject({ found: "nothing" });
      expect(open?.evidence.readBack?.detail).toContain("r.md");
      expect(w.reports()).toEqual({ "r.md": "" });

      const left = await agent.resume(resolve(turn, "leave"));
      expect(outcomes(left)).toEqual(["save result_unknown connection_lost", "other rejected halted"]);
      expect(w.reports()).toEqual({ "r.md": "" });
      expect(accepted().filter((tool) => tool === "save_report")).toHaveLength(1);
    });
  });

  test("the read-back is the host's own call: no rule judges it and no budget counts it", async () => {
    const calls = { save_report: { do: "dieAfter" }, get_operation: looksIntoLog };
    const permissions = {
      allow: [SEARCH],
      ask: ["mcp__documents__save_report"],
      deny: ["mcp__documents__get_operation"],
      default: "deny",
    };
    const agent = await w.start(w.hostile({ calls, tools: Object.values(definitions) }), [save("r.md", REPORT), DONE], {
      permissions,
      limits: { calls: 1, hardResultBytes: 32_000 },
    });
    const turn = await agent.resume(answer(await agent.ask("go")));
    expect(outcomes(turn)).toEqual(["save ok read_back"]);
  });
});
