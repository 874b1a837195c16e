// Where people are who LangGraph's server says they are, that server must know it.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { authFindings } from "../../src/adapters/config/langgraph-auth.js";
import type { Config } from "../../src/contracts/index.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "toolgate-auth-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const config = (identity?: string) => ({ approvals: { identity } }) as unknown as Config;
const found = (text: string | undefined) => {
  if (text !== undefined) writeFileSync(join(folder, "langgraph.json"), text);
  return authFindings(config("langgraph-auth"), [folder, folder]).map(({ level, code }) => `${level} ${code}`);
};

// A client wrote a name of its own where no `auth` was set up, and its answers counted under that name.
test.each(['{"graphs":{}}', '{"auth":{}}', '{"auth":true}', '{"auth":{"path":""}}', "{", "null"])(
  "%s beside `approvals.identity` is an error, told once",
  (text) => {
    expect(found(text)).toEqual(["error auth_missing"]);
  },
);

test("with `auth`, without such a file, and where nobody is believed nothing is found", () => {
  expect(found(undefined)).toEqual([]);
  writeFileSync(join(folder, "langgraph.json"), '{"graphs":{}}');
  expect(authFindings(config(), [folder])).toEqual([]);
  expect(found('{"auth":{"path":"./auth.ts:auth"}}')).toEqual([]);
});
