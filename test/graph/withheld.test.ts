// A definition that holds a secret of the host in its names or rules cannot be reworded: the tool is withheld.

import { expect, test } from "vitest";
import { bench } from "../support/in-process.js";

const b = bench();

test("a tool that names a secret, in its name or a property's, is withheld; its sibling stays (G11)", async () => {
  const secret = "canary-7f3e91c2";
  process.env.TOOLGATE_TEST_CANARY = secret;
  const schema = (name: string) => ({ type: "object", properties: { [name]: { type: "string" } } });
  const tools = [
    { name: `leak_${secret}`, inputSchema: schema("a") },
    { name: "look", inputSchema: schema(`k-${secret}`) },
    { name: "fine", description: `says ${secret}`, inputSchema: schema("a") },
  ];
  try {
    const agent = await b.start({
      config: {
        mcpServers: {
          // biome-ignore lint/suspicious/noTemplateCurlyInString: this is how a configuration names a variable
          hostile: b.server("hostile", { TOKEN: "${TOOLGATE_TEST_CANARY}", HOSTILE: JSON.stringify({ tools }) }),
        },
      },
      steps: [{ say: "Hello." }],
    });
    await agent.ask("hi");
    expect(agent.model.requests[0]?.tools.map((tool) => tool.name)).toEqual(["read_result", "mcp__hostile__fine"]);
    const snapshot = await agent.toolgate.snapshot("t1");
    expect(snapshot?.withheld).toHaveLength(2);
    expect(JSON.stringify([agent.model.requests, snapshot, await agent.state()])).not.toContain(secret);
  } finally {
    delete process.env.TOOLGATE_TEST_CANARY;
  }
});

// A deny by a parameter that the server renamed denied every call, and the model tried again and again.
test("a deny that a tool cannot be tested by withholds it by name; the run goes on, also under `refuse` (assemble-4)", async () => {
  const tools = [
    { name: "pay", inputSchema: { type: "object", properties: { sum: { type: "number" } } } },
    { name: "refund", inputSchema: { type: "object", properties: { amount: { type: "string" } } } },
    { name: "quote", inputSchema: { type: "object", properties: { amount: { type: "integer" } } } },
  ];
  const agent = await b.start({
    config: {
      mcpServers: { hostile: b.server("hostile", { HOSTILE: JSON.stringify({ tools }) }) },
      permissions: { allow: ["mcp__hostile__*"], deny: ["mcp__hostile__*(amount:>100)"] },
      catalog: { onInvalid: "refuse" },
    },
    steps: [
      { calls: [5, 500].map((amount, at) => ({ name: "mcp__hostile__quote", args: { amount }, id: `c${at}` })) },
      { say: "Done." },
    ],
  });
  const turn = await agent.ask("hi");
  expect(agent.model.requests[0]?.tools.map((tool) => tool.name)).toEqual(["read_result", "mcp__hostile__quote"]);
  const rule = "`permissions.deny` `mcp__hostile__*(amount:>100)` cannot be tested on it";
  expect((await agent.toolgate.snapshot("t1"))?.withheld).toEqual([
    { server: "hostile", tool: "pay", reason: `${rule}: it has no parameter \`amount\`` },
    { server: "hostile", tool: "refund", reason: `${rule}: its parameter \`amount\` is no number` },
  ]);
  expect(turn.report.operations.map((one) => `${one.status} ${one.reason}`)).toEqual(["ok success", "rejected denied"]);
  expect(b.log("effect").map((event) => event.arguments)).toEqual([{ amount: 5 }]);
});
