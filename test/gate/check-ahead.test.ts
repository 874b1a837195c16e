// Arguments are checked before the batch is judged, and judged by what they are then.

import { expect, test } from "vitest";
import { digest, type JsonObject, type ToolEntry, type ToolSnapshot } from "../../src/contracts/index.js";
import { argumentProblem, checkAhead } from "../../src/gate/routed-call.js";

type Verdict = { valid: true } | { valid: false; problems: string[] } | { valid: false; unusable: string };

function world(verdictOf: (value: JsonObject) => Verdict) {
  const checked: JsonObject[] = [];
  const checker = {
    check: async (_key: string, _schema: unknown, value: unknown) => {
      checked.push(value as JsonObject);
      return verdictOf(value as JsonObject);
    },
  };
  const entry = {
    alias: "save",
    server: "documents",
    tool: "save",
    digest: "d",
    inputSchema: {},
  } as unknown as ToolEntry;
  const settings = { keys: [], readBacks: [], servers: new Map() };
  const ports = { checker, settings, config: { limits: { argumentBytes: 1_000 } } } as never;
  const snapshot = { tools: [entry] } as unknown as ToolSnapshot;
  const ahead = (args: JsonObject) => checkAhead(ports, snapshot, [{ name: "save", args }]);
  const judged = (args: JsonObject) =>
    argumentProblem(ports, { entry, settings: {}, arguments: args, argumentsDigest: digest(args) } as never);
  return { checked, ahead, judged, ports, snapshot };
}

test("arguments that were checked ahead are not checked again", async () => {
  const { ahead, judged, checked } = world(() => ({ valid: false, problems: ["/text: must be string"] }));
  ahead({ text: 1 });
  expect(await judged({ text: 1 })).toBe("the arguments do not fit the tool's schema: /text: must be string");
  expect(checked).toEqual([{ text: 1 }]);
});

// Streams, callbacks and models hold the message's own objects.
test("arguments that somebody changes after they were checked ahead are checked as they are (call-1)", async () => {
  const { ahead, judged, checked } = world(({ text }) =>
    text === "good" ? { valid: true } : { valid: false, problems: ["no"] },
  );
  const args: JsonObject = { text: "good" };
  ahead(args);
  args["text"] = "bad";
  expect(await judged(args)).toContain("no");
  expect(await judged({ text: "good" })).toBeUndefined();
  expect(checked).toEqual([{ text: "good" }, { text: "bad" }]);
});

test("where a check could not be made, nothing is remembered", async () => {
  let tries = 0;
  const { judged, ahead } = world(() =>
    ++tries === 1 ? { valid: false, unusable: "it took too long" } : { valid: true },
  );
  ahead({ n: 1 });
  expect(await judged({ n: 1 })).toBe("the arguments could not be checked: it took too long");
  expect(await judged({ n: 1 })).toBeUndefined();
});

test("a response of more calls than 16 is checked when it is judged", async () => {
  const { ports, snapshot, checked } = world(() => ({ valid: true }));
  const calls = Array.from({ length: 17 }, (_, n) => ({ name: "save", args: { n } }));
  checkAhead(ports, snapshot, calls);
  checkAhead(ports, snapshot, calls.slice(1));
  await new Promise((resolve) => setImmediate(resolve));
  expect(checked).toHaveLength(16);
});

test("what is no tool of the snapshot, too long, or has no digest is not handed to the checker", async () => {
  const { ahead, checked } = world(() => ({ valid: true }));
  ahead({ text: "x".repeat(2_000) });
  ahead({ text: Number.NaN } as unknown as JsonObject);
  await new Promise((resolve) => setImmediate(resolve));
  expect(checked).toEqual([]);
});
