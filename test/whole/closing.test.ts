// A host that is closed while a run lists its servers for the first time.

import { HumanMessage } from "@langchain/core/messages";
import { expect, test } from "vitest";
import { bench } from "../support/agent.js";

const b = bench();
const input = { messages: [new HumanMessage("hi")] };

/** A server that answers nothing, so that a run waits for it until the host is closed. */
const mute = () => ({ command: process.execPath, args: ["-e", "setInterval(() => {}, 1000)"], cwd: b.folder() });

// A service was stopped while its servers started; the model was asked without any tool and said that it could do nothing.
test.each([{}, { required: true }])(
  "ends the run as stopped: the model is not asked, and the run can be run again (%j) (discover-5)",
  async (more) => {
    const config = { mcpServers: { s: { ...mute(), ...more } } };
    const agent = await b.start({ config, steps: [{ say: "Nothing can be done." }] });
    const run = agent.toolgate.graph.invoke(input, { configurable: { thread_id: "t1" } });
    run.catch(() => undefined);
    const { host } = agent.toolgate;
    const connect = host.servers.connect.bind(host.servers);
    const asked = new Promise<void>((resolve) => {
      host.servers.connect = (name) => {
        resolve();
        return connect(name);
      };
    });
    await asked;
    await agent.toolgate.close();
    await expect(run).rejects.toMatchObject({
      code: "stopped",
      message: "the host was closed before the model was asked",
      hint: "run the thread again",
    });
    expect(agent.model.requests).toEqual([]);
    const next = await b.start({ config: { mcpServers: {} }, steps: [{ say: "Hello." }] });
    expect((await next.ask(undefined)).report).toMatchObject({ status: "done", answer: "Hello." });
  },
);
