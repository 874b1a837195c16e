// What the command shows of a write that may or may not have happened: what was seen of it, and what was read back.

import { expect, test } from "vitest";
import { showUnknowns } from "../../src/cli/layout.js";

const plain = { bold: (text: string) => text, dim: (text: string) => text, warn: (text: string) => text };
const options = { style: plain, command: (...words: readonly string[]) => `toolgate ${words.join(" ")}` };

const ITEM = {
  operationId: "1".repeat(64),
  callId: "c1",
  alias: "mcp__s__act",
  server: "s",
  tool: "act",
  arguments: { text: "a" },
  sentAt: "2026-11-30T00:00:00.000Z",
  evidence: { attempted: true, how: "deadline" },
};

test("an unknown write is shown with what was seen, and with the read-back when one was made", () => {
  expect(showUnknowns([ITEM], options as Parameters<typeof showUnknowns>[1])).toContain("  seen: deadline\n");
  const readBack = { tool: "mcp__s__look", found: "nothing" as const, detail: "still \u001b[31mat it", at: 0 };
  const shown = showUnknowns(
    [{ ...ITEM, evidence: { ...ITEM.evidence, readBack } }],
    options as Parameters<typeof showUnknowns>[1],
  );
  expect(shown).toContain("  seen: deadline\n  read back by mcp__s__look: still \\u{1B}[31mat it\n");
});
