// Where a person is told of names that look alike: in `check`, and in the question.

import { expect, test } from "vitest";
import { examine } from "../../src/adapters/config/findings.js";
import { approvalPayload } from "../../src/approval/index.js";
import { Config } from "../../src/contracts/index.js";
import { question } from "../approval/questions.js";

// A second server was named with a Cyrillic letter, and its questions read like those of the first.
test("`check` warns of two servers that look alike, and of a name of two scripts", () => {
  const server = { type: "http" as const, url: "https://x.example/mcp" };
  const config = Config.parse({
    store: { kind: "memory" },
    folder: "/",
    mcpServers: { docs: server, dоcs: server, mаil: server, web: server },
  });
  expect(
    examine({ config, findings: [] }, { env: {} })
      .findings.filter(({ code }) => code === "look_alike")
      .map(({ level, message }) => [level, message]),
  ).toEqual([
    ["warning", "server `docs` has a name that looks like that of server `dоcs`; give it another one"],
    ["warning", "server `dоcs` has a name that looks like that of server `docs`; give it another one"],
    ["warning", "server `mаil` has a name that mixes letters of two scripts in one word; give it another one"],
  ]);
});

test("the question says it directly below the tool's name", () => {
  const mistakable = ["has a name that looks like that of `delete_file` of `files`"];
  const [action] = approvalPayload([question("a", {}, { mistakable })]).actionRequests;
  expect(action?.description.split("\n").slice(0, 3)).toEqual([
    "Write: `save_report` of `documents`",
    "Look closely: it has a name that looks like that of `delete_file` of `files`",
    "Why you are asked: no rule matches this call",
  ]);
});
