import { appendFileSync } from "node:fs";
import { expect, test } from "vitest";
import { openLog, operationIdOf, readLog } from "../../servers/log.js";
import { servers } from "./started.js";

const { logPath } = servers();

test("a log that nobody wrote is empty", () => {
  expect(readLog(logPath())).toEqual([]);
});

test("logs of several servers share one file, in order (log-1)", () => {
  const one = openLog(logPath());
  const two = openLog(logPath());
  one({ event: "accepted", n: 1, tool: "act", arguments: { a: 1 } });
  two({ event: "accepted", n: 1, tool: "act", arguments: {} });
  one({ event: "effect", n: 1, tool: "act", arguments: { a: 1 }, operationId: "op" });
  expect(readLog(logPath()).map(({ event }) => event)).toEqual(["accepted", "accepted", "effect"]);
  expect(readLog(logPath(), "effect")).toEqual([
    { event: "effect", n: 1, tool: "act", arguments: { a: 1 }, operationId: "op" },
  ]);
});

test("half a line, left by a server that was killed inside a write, is not read", () => {
  openLog(logPath())({ event: "started", pid: 7 });
  appendFileSync(logPath(), '{"event":"eff');
  expect(readLog(logPath())).toEqual([{ event: "started", pid: 7 }]);
});

test("without a path the log swallows everything", () => {
  openLog(undefined)({ event: "started" });
  openLog("")({ event: "started" });
  expect(readLog(logPath())).toEqual([]);
});

test("the operation id is taken from _meta, and only when it is text", () => {
  expect(operationIdOf({ "toolgate/operationId": "op" })).toEqual({ operationId: "op" });
  expect(operationIdOf({ "toolgate/operationId": 7 })).toEqual({});
  expect(operationIdOf(undefined)).toEqual({});
});
