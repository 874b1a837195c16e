// Two hosts share one store, and their configurations say different things of the server `bank`: a yes that was given for one
// of them is no yes for the other. Servers are processes, and effects are counted in each server's own log.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { readLog } from "../../servers/log.js";
import { type Agent, bench, type Turn } from "../support/agent.js";
import { serverFile } from "../support/compile.js";

const b = bench();

const STEPS = [{ calls: [{ name: "mcp__bank__trigger", args: { environment: "live" }, id: "c1" }] }, { say: "Done." }];
const log = (name: string) => join(b.folder(), `${name}.jsonl`);
const effects = (...names: string[]) => names.map((name) => readLog(log(name), "effect").length);

/** The server `bank` as a host has it. Which log it writes to stands in its command line. */
function bank(name: string, env: Record<string, string> = {}, more: object = {}) {
  const program = `process.env.SERVER_LOG = ${JSON.stringify(log(name))}; await import(${JSON.stringify(pathToFileURL(serverFile("deploy")).href)});`;
  return { command: process.execPath, args: ["--input-type=module", "-e", program], cwd: b.folder(), env, ...more };
}

const host = (server: object, more: object = {}): Promise<Agent> =>
  b.start({ config: { mcpServers: { bank: server }, permissions: { ask: ["mcp__bank__*"] }, ...more }, steps: STEPS });

interface Asked {
  readonly approvalId: string;
  readonly why: string;
  readonly destination: string | null;
}
const asked = (turn: Turn) => turn.report.approvals[0] as Asked;
const outcomes = (turn: Turn) =>
  turn.report.operations.map(({ callId, status, sent }) => `${callId} ${status} ${sent}`);

/** Asks at one host and has a person say yes there, or at another one. */
async function approved(at: Agent, answeredAt = at): Promise<Asked> {
  const question = asked(await at.ask("go"));
  await answeredAt.toolgate.ledger.answer(question.approvalId, { type: "approve" });
  return question;
}
const yes = (turn: Turn) => ({ decisions: { [asked(turn).approvalId]: { type: "approve" } } });

describe("a yes is for where the call goes (G4) (G9)", () => {
  test("to another program it is asked again, and says so; nothing is lost", async () => {
    const question = await approved(await host(bank("one")));
    expect(question.why).toBe("asked about by `mcp__bank__*`");
    const other = await host(bank("two"));
    const again = await other.ask(undefined);
    expect(again.report.status).toBe("awaiting_approval");
    expect(effects("one", "two")).toEqual([0, 0]);
    expect(asked(again).approvalId).not.toBe(question.approvalId);
    expect(asked(again).destination).toContain("two.jsonl");
    expect(asked(again).why).toBe(
      `asked about by \`mcp__bank__*\`; where this call goes has changed since it was asked about: it was ${question.destination}`,
    );
    expect(outcomes(await other.resume(yes(again)))).toEqual(["c1 ok true"]);
    expect(effects("one", "two")).toEqual([0, 1]);
  });

  test("the question names where the call goes, wherever it is read", async () => {
    const agent = await host({ ...bank("one"), args: [serverFile("deploy"), "for the\u202Ebank"] });
    const turn = await agent.ask("go");
    const text = `runs \`${process.execPath} ${serverFile("deploy")} "for the\\u{202E}bank"\` in \`${b.folder()}\``;
    const { actionRequests } = turn.interrupt as unknown as {
      actionRequests: { destination: string; description: string }[];
    };
    const [action] = actionRequests;
    expect(action?.destination).toBe(text);
    expect(action?.description.split("\n")[1]).toBe(`Where it goes: ${text}`);
    expect((await agent.toolgate.ledger.requests()).map(({ destination }) => destination)).toEqual([text]);
    expect(asked(turn).destination).toBe(text);
  });

  test("an edit is for where the question it answers said that the call goes (approval-node-5)", async () => {
    const one = await host(bank("one"));
    const question = asked(await one.ask("go"));
    await one.toolgate.ledger.answer(question.approvalId, { type: "edit", arguments: { environment: "staging" } });
    const other = await host(bank("two"));
    const again = await other.ask(undefined);
    expect([again.report.status, ...effects("one", "two")]).toEqual(["awaiting_approval", 0, 0]);
    expect(asked(again).why).toContain("where this call goes has changed since it was asked about");
    const turn = await one.ask(undefined);
    expect(asked(turn).why).toContain("this has happened 2 times"); // the question of the other host is the current one
    expect(outcomes(await one.resume(yes(turn)))).toEqual(["c1 rejected false", "c1 ok true"]);
    expect(readLog(log("one"), "effect").map((event) => event.arguments)).toEqual([{ environment: "staging" }]);
    expect(effects("two")).toEqual([0]);
  });

  test("an edit runs where the call goes where it went", async () => {
    const one = await host(bank("one"));
    const question = asked(await one.ask("go"));
    await one.toolgate.ledger.answer(question.approvalId, { type: "edit", arguments: { environment: "staging" } });
    const same = await host(bank("one"));
    expect(outcomes(await same.ask(undefined))).toEqual(["c1 rejected false", "c1 ok true"]);
    expect(effects("one")).toEqual([1]);
  });

  // What the store of an older version holds: a question without a destination, and a sealed yes to it.
  test("a question that does not say where the call goes is asked anew, whatever was answered", async () => {
    const before = await host(bank("one"));
    const question = asked(await before.ask("go"));
    await before.toolgate.close();
    const store = new Database(join(b.folder(), "store", "toolgate.sqlite"));
    // As a version left it that knew neither destinations nor seals.
    store.exec(`UPDATE questions SET destination = NULL; UPDATE operations SET asked = NULL, seal = NULL;
      UPDATE threads SET head = NULL; UPDATE card SET seal = NULL`);
    store.close();
    const one = await host(bank("one"));
    await one.toolgate.ledger.answer(question.approvalId, { type: "approve" });
    const again = await one.ask(undefined);
    expect([again.report.status, ...effects("one")]).toEqual(["awaiting_approval", 0]);
    expect(asked(again).why).toBe(
      "asked about by `mcp__bank__*`; the question before this one did not say where the call goes",
    );
    expect(outcomes(await one.resume(yes(again)))).toEqual(["c1 ok true"]);
  });
});

describe("a yes is for who the call is made as (G4)", () => {
  const ACCOUNT = { first: "the-first-token", second: "the-second-token", third: "the-third-token" };

  test("with another value of a variable it is asked again; no value is kept or shown (G11)", async () => {
    const question = await approved(await host(bank("one", { BANK_TOKEN: ACCOUNT.first })));
    const other = await host(bank("one", { BANK_TOKEN: ACCOUNT.second }));
    const again = await other.ask(undefined);
    expect([again.report.status, ...effects("one")]).toEqual(["awaiting_approval", 0]);
    expect(asked(again).destination).toBe(question.destination);
    expect(asked(again).why).toContain(
      "where this call goes, or who it is made as, has changed since it was asked about: `bank` has",
    );
    expect(JSON.stringify([again, question])).not.toMatch(/the-(first|second)-token/);
    const files = readdirSync(join(b.folder(), "store"), { recursive: true, encoding: "utf8" })
      .map((name) => join(b.folder(), "store", name))
      .filter((path) => statSync(path).isFile()); // the notes of running servers stand in a folder of their own
    expect(files.filter((file) => /the-(first|second)-token/.test(readFileSync(file, "latin1")))).toEqual([]);
    expect(outcomes(await other.resume(yes(again)))).toEqual(["c1 ok true"]);
    expect(effects("one")).toEqual([1]);
  });

  test("the second time, it says to set `credentialId`", async () => {
    await approved(await host(bank("one", { BANK_TOKEN: ACCOUNT.first })));
    const second = await host(bank("one", { BANK_TOKEN: ACCOUNT.second }));
    const again = await second.ask(undefined);
    expect(asked(again).why).not.toContain("credentialId");
    await second.toolgate.ledger.answer(asked(again).approvalId, { type: "approve" });
    const third = await host(bank("one", { BANK_TOKEN: ACCOUNT.third }));
    expect(asked(await third.ask(undefined)).why).toContain(
      "this has happened 2 times; where only the credentials of `bank` change, set its `credentialId`",
    );
    expect(effects("one")).toEqual([0]);
  });

  test("under one `credentialId` other values ask nothing, and another one asks", async () => {
    const as = (credentialId: string, token: string) => bank("one", { BANK_TOKEN: token }, { credentialId });
    await approved(await host(as("treasury", ACCOUNT.first)));
    const other = await host(as("petty cash", ACCOUNT.first));
    const again = await other.ask(undefined);
    expect([again.report.status, ...effects("one")]).toEqual(["awaiting_approval", 0]);
    expect(asked(again).destination).toMatch(/ as `petty cash`$/);
    await other.toolgate.ledger.answer(asked(again).approvalId, { type: "approve" });
    const rotated = await host(as("petty cash", ACCOUNT.second));
    expect(outcomes(await rotated.ask(undefined))).toEqual(["c1 ok true"]);
    expect(effects("one")).toEqual([1]);
  });

  test("hosts that are given no secret keep one in the store's folder, so that another value is seen", async () => {
    const first = await host(bank("one", { BANK_TOKEN: ACCOUNT.first }), { approvals: {} });
    const second = await host(bank("one", { BANK_TOKEN: ACCOUNT.second }), { approvals: {} });
    await approved(first, second);
    const again = await second.ask(undefined);
    expect([again.report.status, ...effects("one")]).toEqual(["awaiting_approval", 0]);
    expect(asked(again).why).toContain("where this call goes, or who it is made as, has changed");
  });
});
