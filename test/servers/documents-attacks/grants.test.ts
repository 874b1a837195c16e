// Forged grants (forgeries.ts). Each is tried for a report that is right in all else, and after it an honest grant with the
// same operation id is taken: the attack used nothing up, and nothing but the attack was wrong.

import { describe, expect, test } from "vitest";
import { onField } from "./field.js";
import { claiming, type Forge, forgeries, ofLength, payload } from "./forgeries.js";
import { grant, HEADER, newId, type Report, signed } from "./grants.js";
import { attacked, SAMPLED, targetOn } from "./target.js";

let reports = 0;
const newReport = (): Report => ({ filename: `report-${++reports}.md`, content: `# R\u00e9sum\u00e9 ${reports}\n` });

describe.each(SAMPLED)("%s", (era) => {
  const target = attacked(era);

  describe.each(Object.entries(forgeries))("%s", (_name, attacks) => {
    test.each(attacks)("%s", async (_what, forge, rule) => {
      const [report, id] = [newReport(), newId()];
      const told = await target().refused("save_report", { ...report, approval_token: forge(report, id) });
      expect(told.data).toEqual({ field: "approval_token", rule });
      await target().saved(report, id, grant(report, id));
    });
  });

  describe("operations", () => {
    test.each<[string, unknown]>([
      ["a path", "../reports/a.md"],
      ["63 digits", "a".repeat(63)],
      ["capitals", "A".repeat(64)],
      ["a newline behind", `${"a".repeat(64)}\n`],
      ["nothing", ""],
    ])("a `jti` that is no operation id: %s", async (_what, jti) => {
      const report = newReport();
      const told = await target().refused("save_report", { ...report, approval_token: grant(report, "", { jti }) });
      expect(told.data).toEqual({ field: "approval_token", rule: "must name an operation" });
    });

    test("another operation id beside it", async () => {
      const [report, id] = [newReport(), newId()];
      const approval_token = grant(report, id);
      const told = await target().refused("save_report", { ...report, approval_token, operation_id: newId() });
      expect(told.data).toEqual({ field: "operation_id", rule: "must be the operation that the grant is for" });
      await target().saved(report, id, approval_token);
    });

    test.each<[string, Forge]>([
      ["2,048 characters", (report, id) => ofLength(2_048, report, id)],
      ["a rule said yes, nobody else", claiming({ approver: null })],
      [
        "a claim said twice, the last one right: RFC 7519 lets the last count",
        (report, id) => signed(HEADER, payload(report, id).replace("{", '{"scope":"other",')),
      ],
    ])("what is right: %s", async (_what, make) => {
      const [report, id] = [newReport(), newId()];
      await target().saved(report, id, make(report, id));
    });
  });
});

test("another server of the same secret: its name and its scope count, not this one's", async () => {
  await onField(async (field) => {
    const named = await targetOn(field, "2026-07-28", { DOCUMENTS_NAME: "archive", DOCUMENTS_SCOPE: "team" });
    const [report, id] = [newReport(), newId()];
    const rule = async (changes: object) =>
      (await named.refused("save_report", { ...report, approval_token: grant(report, id, changes) })).data.rule;
    expect(await rule({})).toBe("must be for this server");
    expect(await rule({ aud: "archive" })).toBe("must be for this scope");
    expect(await rule({ scope: "team" })).toBe("must be for this server");
    await named.saved(report, id, grant(report, id, { aud: "archive", scope: "team" }));
  });
});
