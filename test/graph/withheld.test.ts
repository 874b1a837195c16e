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
