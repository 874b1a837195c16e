import { inspect } from "node:util";
import { expect, test } from "vitest";
import { createTestToolgate, scriptedModel } from "../../src/testing.js";

test("an agent that is printed shows no secret (G11)", async () => {
  const secret = "a-seal-secret-that-nobody-may-read-in-a-log";
  const servers = {
    names: [],
    connect: async () => ({ ok: false, problem: "there is none" }) as const,
    connection: () => undefined,
    generation: () => 0,
    onEvent: () => () => {},
    close: async () => {},
  };
  const toolgate = await createTestToolgate({
    config: { store: { kind: "memory" }, approvals: { secret } },
    model: scriptedModel([]),
    servers,
  });
  try {
    for (const printed of [
      inspect(toolgate, { depth: 10 }),
      JSON.stringify(toolgate),
      `${JSON.stringify({ toolgate })}`,
    ]) {
      expect(printed).not.toContain(secret);
    }
    expect(inspect(toolgate)).toContain("servers");
  } finally {
    await toolgate.close();
  }
});
