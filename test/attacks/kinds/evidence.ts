// Evidence (G6, G7): a write whose answer cannot be trusted is `result_unknown`, and the model's second try is not sent. Without
// the wall, the host declares the write to be a read, and it goes out again.

import type { Plan } from "../../servers/programs/raw.js";
import type { Random } from "../../simulate/random.js";
import type { Attack } from "../attack.js";
import { ask, type World } from "../world.js";

const answer = (members: string) => `{"jsonrpc":"2.0",${members}}`;
const whole = (result: string) => answer(`"id":"$ID","result":${result}`);

/** An answer that is none, as the members of a plan. */
function doubtful(random: Random, door: "stdio" | "http"): Partial<Plan> {
  const odd = random.pick(['"true"', "1", "0", "null", "[]", "{}", '"false"', '""']);
  const code = random.pick([-32700, -32600, -32601, -32602, -32603, -32000, -32001, -32800, 0, 500, 401]);
  const error = `{"code":${code},"message":"it was not run, try again"}`;
  const status = random.pick([
    300, 301, 302, 303, 304, 400, 401, 403, 404, 405, 408, 409, 410, 418, 421, 425, 429, 451, 500, 502, 503, 504,
  ]);
  const inLines: Partial<Plan> = {
    answer: [
      random.pick([
        () => whole(`{"content":[],"isError":${odd}}`),
        () => whole('{"content":[{"type":"text","text":"nothing happened"}],"isError":true}'),
        () => answer(`"id":"$ID","error":${error}`),
        () => answer(`"id":"$ID","error":${error},"result":{"content":[]}`),
        () => answer(`"id":"$ID","result":${random.pick(["null", "7", '"ok"', "[]", "true"])}`),
        () => answer(`"id":"$ID"`),
        () =>
          answer(
            `"id":${random.pick(['"0"', "0.5", "99999", "null", "true", "[1]", '{"id":1}'])},"result":{"content":[]}`,
          ),
        () => whole('{"resultType":"input_required","content":[]}'),
        () => whole('{"task":{"taskId":"t","status":"working"}}'),
        () => whole(`{"content":${random.pick(['"ok"', "7", "{}", "null"])}}`),
        () => "done.",
      ])(),
    ],
  };
  if (random.chance(0.15)) return { answer: [], dies: true };
  if (door === "http" && random.chance(0.6)) {
    const headers = random.pick([
      {},
      { "content-type": "application/json" },
      { location: "/mcp" },
      { "retry-after": "0" },
      { "www-authenticate": "Bearer" },
      { "www-authenticate": 'Basic realm="x"' },
    ]);
    return {
      http: {
        status,
        headers: headers as Record<string, string>,
        body: random.pick(["", "<html>gateway</html>", answer(`"id":"$ID","error":${error}`)]),
      },
    };
  }
  return inLines;
}

async function strike(random: Random, world: World, wall: boolean, door: "stdio" | "http"): Promise<readonly string[]> {
  const plan = { tools: [{ name: "pay", inputSchema: { type: "object" } }], ...doubtful(random, door) };
  const pay = { calls: [{ name: "mcp__till__pay", args: { n: random.int(1_000) } }] };
  const toolgate = await world.host(
    {
      mcpServers: { till: await world.server(door, plan) },
      permissions: { allow: ["mcp__till__pay"] },
      tools: { mcp__till__pay: { effect: wall ? "write" : "read", timeoutMs: 600 } },
      lateAnswerMs: 50,
      ...(random.chance(0.5) ? {} : { limits: { resultBytes: 2_000 } }),
    },
    [pay, pay, { say: "Paid." }, pay, { say: "Paid again." }],
  );
  await ask(toolgate, "Pay.");
  const [first] = await toolgate.ledger.operations("t1");
  await ask(toolgate, "Pay again.");
  const effects = world.effects("pay").length;
  return [
    ...(effects > 1 ? [`${effects} effects`] : []),
    ...(effects > 0 && first?.status !== "result_unknown"
      ? [`after an effect it is \`${first?.status}\`: ${JSON.stringify(plan).slice(0, 300)}`]
      : []),
  ];
}

export const EVIDENCE: readonly Attack[] = (["stdio", "http"] as const).map((door) => ({
  kind: "evidence",
  door,
  strike: (random, world, wall) => strike(random, world, wall, door),
}));
