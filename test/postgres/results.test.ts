import { describe, expect, it } from "vitest";
import { resultsSuite } from "../conformance/results.js";
import { postgresWorlds } from "./worlds.js";

const postgres = postgresWorlds();

resultsSuite("Postgres results", postgres.results, (coding, body) =>
  postgres.connection().query("UPDATE toolgate_bodies SET coding = $1, body = $2", [coding, body]),
);

describe("Postgres results", () => {
  it("keeps equal bodies once, compressed (results-1)", async () => {
    const results = await postgres.results();
    const body = "a line of a very repetitive log\n".repeat(5_000);
    const { ref } = await results.put("t1", body);
    await results.put("t2", body);
    const stored = await postgres.connection().query("SELECT length(body) AS bytes FROM toolgate_bodies");
    expect(stored).toHaveLength(1);
    expect(stored[0]?.bytes).toBeLessThan(2_000);
    expect(await results.read("t1", ref)).toBe(body);
  });
});
