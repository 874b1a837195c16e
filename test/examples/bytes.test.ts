// What a thread costs on disk, on a short run of the measurements in `bench/`. Times are measured there, on a quiet machine.

import { describe, expect, test } from "vitest";
import { measureCalls, measureTurns } from "../../bench/measure.js";
import { serverFile } from "../support/compile.js";

const untimed = { pairs: 0, server: { command: process.execPath, args: [serverFile("hostile")] } };
/** What one costs on a short run (22 and 17 KB with 20 tools, 24 and 19 KB with 1,000), with a margin. */
const TURN_BYTES = 30_000; // 400 turns: 12 of the 20 MB they may take
const CALL_BYTES = 23_000; // 400 calls: 9.2 of the 10 MB they may take

describe("bytes on disk", { timeout: 180_000 }, () => {
  test("60 turns of one read stay within their share, and grow the same whatever the catalog's size", async () => {
    const small = await measureTurns({ tools: 20, effect: "read" }, 60, untimed);
    const large = await measureTurns({ tools: 1_000, effect: "read" }, 60, untimed);
    expect(small.bytes / 60).toBeLessThan(TURN_BYTES);
    expect(large.bytes / 60).toBeLessThan(TURN_BYTES);
    expect(spread(small, large)).toBeLessThan(0.05);
  });

  test("60 writes within one turn stay within their share, and grow the same whatever the catalog's size", async () => {
    const small = await measureCalls({ tools: 20, effect: "write" }, 60, untimed);
    const large = await measureCalls({ tools: 1_000, effect: "write" }, 60, untimed);
    expect(small.bytes / 60).toBeLessThan(CALL_BYTES);
    expect(large.bytes / 60).toBeLessThan(CALL_BYTES);
    expect(spread(small, large)).toBeLessThan(0.05);
  });

  test("60 writes side by side in one response stay within their share", async () => {
    const cost = await measureCalls({ tools: 20, effect: "write" }, 60, { ...untimed, batch: 60 });
    expect(cost.bytes / 60).toBeLessThan(CALL_BYTES);
  });
});

interface Growth {
  readonly bytes: number;
  readonly bytesAtTen: number;
}

/** How much more one store grew than the other, after its first ten turns or calls. */
function spread(...costs: readonly Growth[]): number {
  const growth = costs.map(({ bytes, bytesAtTen }) => bytes - bytesAtTen);
  return Math.max(...growth) / Math.min(...growth) - 1;
}
