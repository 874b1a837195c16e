import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { createSchemaChecker } from "../../src/adapters/schema/checker.js";
import { describeServers, loadSnapshot, summarise } from "../../src/catalog/index.js";
import { listing, snapshotOf } from "./helpers.js";

// Catalogs that real servers listed. They are kept beside the repository, not in it, because they are their authors';
// in a checkout without them there is nothing these tests could be about.
const FOLDER = fileURLToPath(new URL("../../../shared/catalogs/", import.meta.url));

function rawTools(file: string): unknown[] {
  const { pages } = JSON.parse(readFileSync(`${FOLDER}${file}`, "utf8")) as { pages: { tools: unknown[] }[] };
  return pages.flatMap((page) => page.tools);
}

describe.runIf(existsSync(FOLDER))("catalogs of real servers", () => {
  const files = existsSync(FOLDER) ? readdirSync(FOLDER).filter((file) => file.endsWith(".json")) : [];
  const snapshot = snapshotOf(files.map((file) => listing(file.replace(/\.json$/, ""), rawTools(file))));
  const checker = createSchemaChecker({ limitMs: 10_000 });
  afterAll(() => checker.close());

  it("are assembled whole with the default limits, but for the one tool that runs only as a task", () => {
    expect(files).toHaveLength(32);
    expect(snapshot.withheld).toEqual([
      {
        server: "everything",
        tool: "simulate-research-query",
        reason: "it runs only as a task, which this host does not do",
      },
    ]);
    expect(snapshot.tools).toHaveLength(1_608);
    expect(new Set(snapshot.tools.map((entry) => entry.alias)).size).toBe(1_608);
    expect(snapshot.servers.filter((server) => server.problem !== undefined)).toEqual([]);
  });

  it("are found again by their content and told of in little room", () => {
    expect(loadSnapshot(JSON.parse(JSON.stringify(snapshot)))?.id).toBe(snapshot.id);
    expect(Buffer.byteLength(JSON.stringify(summarise(snapshot, () => "write")))).toBeLessThan(4_096);
    expect(describeServers(snapshot, []).length).toBeLessThan(8_000);
  });

  it("have schemas of which the largest compile too", async () => {
    const size = (schema: unknown) => JSON.stringify(schema).length;
    const largest = snapshot.tools.toSorted((a, b) => size(b.inputSchema) - size(a.inputSchema)).slice(0, 12);
    const verdicts = await Promise.all(largest.map((entry) => checker.check(entry.digest, entry.inputSchema, {})));
    expect(verdicts.filter((verdict) => "unusable" in verdict)).toEqual([]);
  });
});
