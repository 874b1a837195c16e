// The document workspace through a real provider client (`@langchain/openai` by the configuration's model) against a
// provider on this
// machine: schemas as they are sent, call ids that come back, a write that waits, and requests that hold no secret.

import { afterEach, describe, expect, test, vi } from "vitest";
import { answer, desk, KEY, LOOK, outcomes, PROTOCOLS, READ, SAVE, SEARCH } from "../documents/desk.js";
import { bench } from "../support/agent.js";
import { type ProviderAnswer, type ProviderStub, startProviderStub } from "../support/provider-stub.js";

const b = bench();
let stub: ProviderStub;

afterEach(async () => {
  await stub.close();
  vi.unstubAllEnvs();
});

const REPORT = "# Bericht\n\nPfeiler 2: 18 400 € bis 28. November.\n";

interface Wire {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly name: string } }[];
}

const wire = (at: number) => (stub.requests.at(at)?.messages ?? []) as unknown as readonly Wire[];
const toolMessages = (at: number) => wire(at).filter(({ role }) => role === "tool");

describe.each(PROTOCOLS)("the document workspace with a real provider client, over MCP %s", (protocol) => {
  const w = desk(b, protocol);

  async function start(answers: readonly ProviderAnswer[]) {
    stub = await startProviderStub(answers);
    vi.stubEnv("OPENAI_API_KEY", "key-for-tests");
    vi.stubEnv("OPENAI_BASE_URL", stub.baseURL);
    w.source("bridge.md", "# Brücke\n\nPfeiler 2 ist ausgespült.\n");
    const model = { model: "openai:gpt-5.1" };
    return w.start(w.teed(w.server()), [], model, { model: undefined } as never); // the configuration's, not a script
  }

  const session: readonly ProviderAnswer[] = [
    { say: "I look.", calls: [{ id: "call_s1", name: SEARCH, args: { query: "Pfeiler", max_results: 2 } }] },
    { calls: [{ id: "call_r1", name: READ, args: { filename: "bridge.md" } }] },
    { calls: [{ id: "call_w1", name: SAVE, args: { filename: "bericht.md", content: REPORT } }] },
    { say: "It is saved." },
  ];

  test("tools as sent, ids echoed, the write waits; after the yes the file is there and no request holds a secret (G4) (G11)", async () => {
    const agent = await start(session);
    const question = await agent.ask("Save a report.");
    expect(stub.requests).toHaveLength(3);
    expect(question.report).toMatchObject({ status: "awaiting_approval", approvals: [{ callId: "call_w1" }] });
    expect(w.reports()).toEqual({});

    const turn = await agent.resume(answer(question));
    expect(outcomes(turn)).toEqual(["call_s1 ok contract", "call_r1 ok contract", "call_w1 ok contract"]);
    expect(turn.report).toMatchObject({ status: "done", answer: "It is saved.", modelRequests: 4 });
    expect(w.reports()).toEqual({ "bericht.md": REPORT });

    const tools = stub.requests[0]?.tools ?? [];
    expect(tools.map((one) => one.function["name"])).toEqual([LOOK, READ, SAVE, SEARCH]);
    expect(tools.find((one) => one.function["name"] === SAVE)?.function["parameters"]).toEqual({
      type: "object",
      properties: {
        filename: {
          type: "string",
          pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}\\.md$",
          description: "The name of the new report, such as `summary.md`.",
        },
        content: {
          type: "string",
          minLength: 1,
          maxLength: 8_000,
          description: "The whole report, at most 24000 bytes in UTF-8.",
        },
      },
      required: ["filename", "content"],
      additionalProperties: false,
    });
    expect(tools.find((one) => one.function["name"] === SEARCH)?.function["parameters"]).toMatchObject({
      properties: {
        query: { type: "string", minLength: 1, maxLength: 80 },
        max_results: { type: "integer", minimum: 1, maximum: 3, default: 3 },
      },
      required: ["query"],
      additionalProperties: false,
    });
    expect(stub.requests.map((request) => JSON.stringify(request.tools) === JSON.stringify(tools))).toEqual([
      true,
      true,
      true,
      true,
    ]);

    expect(toolMessages(-1).map((message) => message.tool_call_id)).toEqual(["call_s1", "call_r1", "call_w1"]);
    expect(
      wire(-1)
        .filter(({ role }) => role === "assistant")
        .flatMap((message) => message.tool_calls?.map(({ id, function: called }) => `${id} ${called.name}`)),
    ).toEqual([`call_s1 ${SEARCH}`, `call_r1 ${READ}`, `call_w1 ${SAVE}`]);
    expect(toolMessages(-1)[1]?.content).toContain("Pfeiler 2 ist ausgespült.");
    expect(toolMessages(-1)[2]?.content).toContain("saved `bericht.md`");

    const [grant, ...others] = grants();
    expect([typeof grant, others]).toEqual(["string", []]);
    const recorded = JSON.stringify(stub.requests);
    expect([KEY, grant as string, ...(grant as string).split(".")].filter((text) => recorded.includes(text))).toEqual(
      [],
    );
    expect(recorded).not.toContain("approval_token");
  });

  test("a no reaches the provider as the call's answer; a token of the model's own is refused under its id", async () => {
    const own = { filename: "bericht.md", content: REPORT, approval_token: "eyJ.mine.own" };
    const agent = await start([
      { calls: [{ id: "call_own", name: SAVE, args: own }] },
      { calls: [{ id: "call_w1", name: SAVE, args: { filename: "bericht.md", content: REPORT } }] },
      { say: "Not saved." },
    ]);
    const question = await agent.ask("Save a report.");
    expect(toolMessages(-1)).toMatchObject([{ tool_call_id: "call_own" }]);
    expect(toolMessages(-1)[0]?.content).toContain("`approval_token` is filled in by the host");
    const turn = await agent.resume(answer(question, { type: "reject", message: "not today" }));
    expect(outcomes(turn)).toEqual(["call_own rejected invalid_arguments", "call_w1 rejected person"]);
    expect(toolMessages(-1)[1]?.content).toContain("not today");
    expect(b.log("accepted")).toEqual([]);
    expect(w.reports()).toEqual({});
    expect(grants()).toEqual([]);
  });

  /** Grants that were sent to the server. */
  function grants(): string[] {
    return w.kept().flatMap((line) => JSON.parse(line).params?.arguments?.approval_token ?? []);
  }
});
