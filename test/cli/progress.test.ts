// What a run shows of its steps: at a terminal each has a line, elsewhere only a problem with a server has one.

import { describe, expect, test } from "vitest";
import { createProgress } from "../../src/cli/progress.js";

const style = { bold: (text: string) => text, dim: (text: string) => text, warn: (text: string) => `! ${text}` };

function told(steps: boolean, ...events: unknown[]): string[] {
  const lines: string[] = [];
  const progress = createProgress({ steps, style, write: (line) => lines.push(line) });
  for (const event of events) progress(event);
  return lines;
}

const CALL = { type: "toolgate.call", alias: "mcp__s__act", effect: "write" };
const EVENTS = [
  { type: "toolgate.capabilities", reused: true },
  { ...CALL, phase: "sent" },
  { ...CALL, phase: "settled", status: "ok" },
  { ...CALL, phase: "refused", status: "rejected", message: "no \u001b[31mtoken\nof yours" },
  { type: "toolgate.read_back", alias: "mcp__s__act", tool: "mcp__s__look" },
  { type: "toolgate.server", server: "s", kind: "failed", detail: "gone" },
  { type: "toolgate.server", server: "s", kind: "failed", detail: "gone" },
];

describe("progress", () => {
  test("at a terminal every step has one visible line, and why a call was refused (progress-1) (progress-2)", () => {
    expect(told(true, ...EVENTS)).toEqual([
      "· asking the model",
      "→ mcp__s__act (write)",
      "← mcp__s__act: ok",
      "← mcp__s__act: rejected: no \\u{1B}[31mtoken of yours",
      "· asking mcp__s__look whether mcp__s__act happened",
      "! server `s` is not available: gone; the run goes on without it",
    ]);
  });

  test("elsewhere only what went wrong with a server (progress-1)", () => {
    expect(told(false, ...EVENTS)).toEqual(["! server `s` is not available: gone; the run goes on without it"]);
  });

  test("never throws, whatever the event", () => {
    expect(told(true, null, undefined, 1, "x", [], {}, { type: "toolgate.other" })).toEqual([]);
  });
});
