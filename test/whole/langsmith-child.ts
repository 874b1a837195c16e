// A host that LangSmith traces: a tool of its own says a secret, another fails with it, and then the model fails with it.

import { awaitAllCallbacks } from "@langchain/core/callbacks/promises";
import { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { z } from "zod";
import { createToolgate } from "../../src/index.js";
import { SayingModel } from "../support/saying-model.js";

const secret = String(process.env["CANARY"]);
const own = (name: string, body: () => string) => tool(body, { name, description: "d", schema: z.object({}) });
let requests = 0;
const model = new SayingModel(() => {
  if (requests++ > 0) throw new Error(`the provider refuses key ${secret}`);
  const tool_calls = ["says", "fails"].map((name, index) => ({ name, args: {}, id: `c${index}` }));
  return new AIMessage({ content: "visible answer", tool_calls });
});
const toolgate = await createToolgate({
  config: {
    mcpServers: { unused: { command: "unused", connect: "on-demand", env: { CANARY: `\${CANARY}` } } },
    permissions: { allow: ["says", "fails"] },
    tools: { says: { effect: "read" }, fails: { effect: "read" } },
    store: { kind: "memory" },
  },
  model,
  tools: [
    own("says", () => `the key is ${secret}`),
    own("fails", () => {
      throw new Error(`no login with ${secret}`);
    }),
  ] as never,
});
const config = { configurable: { thread_id: "t1" } };
const error = await toolgate.graph
  .invoke({ messages: [{ role: "user", content: "visible question" }] } as never, config)
  .then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
await toolgate.close();
await awaitAllCallbacks();
console.log(String(error));
