// What is shown, digested, sealed and sent is one value. The pure parts are tested by vectors and properties, the rest in
// whole runs, where the server's log says what was sent.

import { createHash } from "node:crypto";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { AIMessage } from "@langchain/core/messages";
import Database from "better-sqlite3";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { seal, sealed } from "../../src/approval/index.js";
import { digest, notHashable, type Verdict } from "../../src/contracts/index.js";
import { inProcess, inProcessJson } from "../cli/in-process.js";
import { Workspace } from "../cli/support.js";
import { type Agent, bench, type Steps, type Turn } from "../support/agent.js";
import { startHostile } from "./support.js";

const b = bench();
const thread = { configurable: { thread_id: "t1" } };
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

const DONE = { say: "Done." };
/** A call of the write `act`; text stands for arguments as a provider sent them. */
const act = (args: Record<string, unknown> | string, id: string) => ({ name: "mcp__hostile__act", args, id });

/** One write that takes anything. What no rule names is asked about. */
function start(steps: Steps, config: object = { permissions: {} }): Promise<Agent> {
  return startHostile(b, { tools: [{ name: "act", inputSchema: { type: "object" } }] }, { steps, config });
}

const outcomes = (turn: Turn) => turn.report.operations.map((one) => `${one.callId} ${one.status} ${one.reason}`);
const sent = () => b.log("accepted").map((event) => event.arguments);
const approve = (turn: Turn) => ({
  decisions: Object.fromEntries(turn.report.approvals.map((one) => [one.approvalId, { type: "approve" }])),
});
const toolTexts = (turn: Turn) =>
  turn.messages.filter((message) => message.getType() === "tool").map((message) => message.text);

// Two programs sorted and escaped the same value differently, and its digests differed.
describe("key order and white space", () => {
  // RFC 8785, 3.2.2 and 3.2.3, and numbers of its appendix B: text in, canonical text out.
  test.each([
    [
      String.raw`{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}`,
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        String.raw`"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    ],
    [
      String.raw`{"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One", "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O"}`,
      '{"\\r":"Carriage Return","1":"One","\u0080":"Control","ö":"Latin Small Letter O","€":"Euro Sign",' +
        '"\u{1F600}":"Emoji: Grinning Face","\uFB33":"Hebrew Letter Dalet With Dagesh"}',
    ],
    ["[5e-324, -5e-324, 1.7976931348623157e308]", "[5e-324,-5e-324,1.7976931348623157e+308]"],
    ["[9007199254740992, 295147905179352830000, 1e+21]", "[9007199254740992,295147905179352830000,1e+21]"],
    ["[9.999999999999997e22, 1e23, 1.0000000000000001e23]", "[9.999999999999997e+22,1e+23,1.0000000000000001e+23]"],
    ["[999999999999999700000, 999999999999999900000]", "[999999999999999700000,999999999999999900000]"],
    [
      "[333333333.3333332, 333333333.33333325, 333333333.3333333]",
      "[333333333.3333332,333333333.33333325,333333333.3333333]",
    ],
    ["[-0.0000033333333333333333, 1424953923781206.2]", "[-0.0000033333333333333333,1424953923781206.2]"],
    ['{"b":1,"a":{"10":1,"9":2}}', '{"a":{"10":1,"9":2},"b":1}'],
    ['{"a":{"9":2,"10":1},"b":1}', '{"a":{"10":1,"9":2},"b":1}'],
  ])("RFC 8785: %j", (text, canonical) => {
    expect(digest(JSON.parse(text))).toBe(sha256(canonical));
  });

  test("the digest of a value is the same in every order of its keys and every layout (property)", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.infiniteStream(fc.nat()), (value, numbers) => {
        fc.pre(notHashable(value) === undefined);
        const other = JSON.parse(
          JSON.stringify(
            shuffled(value, () => numbers.next().value as number),
            null,
            3,
          ),
        );
        expect(digest(other)).toBe(digest(value));
      }),
    );
  });

  test("other data has another digest (property)", () => {
    // -0 and 0 are one number on the wire, so what is compared is what would be sent.
    const same = (one: unknown, two: unknown) => JSON.stringify(ordered(one)) === JSON.stringify(ordered(two));
    const small = fc.jsonValue({ maxDepth: 2, stringUnit: fc.constantFrom("a", "1", '"', "\\", "\u0000") });
    fc.assert(
      fc.property(small, small, (one, two) => {
        expect(digest(one) === digest(two)).toBe(same(one, two));
      }),
      { numRuns: 2_000 },
    );
  });

  test("a write repeated with its keys in another order is known for the same, one with another value is not", async () => {
    const steps = [
      { calls: [act('{"b":1,"a":{"10":1,"9":2}}', "c1")] },
      { calls: [act('{"b":1,"a":{"10":2,"9":1}}', "c2")] },
      { calls: [act(' { "a" : { "9" : 2, "10" : 1 } , "b" : 1 } ', "c3")] },
    ];
    const turn = await (await start(steps, {})).ask("go");
    expect(turn.report.approvals.map((one) => one.callId)).toEqual(["c3"]);
    expect(sent()).toEqual([
      { b: 1, a: { 10: 1, 9: 2 } },
      { b: 1, a: { 10: 2, 9: 1 } },
    ]);
  });
});

// Every half surrogate is encoded as the same three bytes, so that different texts had one digest.
describe("half a surrogate pair", () => {
  const halves = ["\ud83d", "\ude00", "a\ud83db"];

  test("has no digest, as a value, within one, or as a key; U+FFFD and whole pairs have their own", () => {
    for (const half of halves) {
      for (const value of [half, { p: half }, { [half]: 1 }, [[half]]]) {
        expect(notHashable(value)).toMatch(/^a lone surrogate in a (string|key)$/);
        expect(() => digest(value)).toThrow("cannot digest the value: a lone surrogate in a");
      }
    }
    expect(digest("\ufffd")).toBe(sha256('"\ufffd"'));
    expect(digest("\u{1F600}")).toBe(sha256('"\u{1F600}"'));
  });

  test("a call that holds one is refused and answered, as data and as text; the one beside it goes on", async () => {
    const calls = [
      act({ p: "\ud83d" }, "data"),
      act('{"p":"\\ude00"}', "text"),
      act('{"\\ud83d":1}', "key"),
      act({ p: "\ufffd" }, "good"),
    ];
    const agent = await start([{ calls }, DONE], {});
    const turn = await agent.ask("go");
    // Calls whose text cannot be read come last.
    expect(outcomes(turn)).toEqual([
      "data rejected invalid_arguments",
      "good ok success",
      "text rejected invalid_arguments",
      "key rejected invalid_arguments",
    ]);
    expect(sent()).toEqual([{ p: "\ufffd" }]);
    expect(toolTexts(turn)[0]).toContain("the arguments cannot be used: a lone surrogate in a string");
    expect((await agent.ask("and now?")).report.status).toBe("done");
  });

  test("a yes to U+FFFD is no yes to a half that the state was given in its place", async () => {
    const agent = await start([{ calls: [act({ p: "\ufffd" }, "c1")] }, DONE]);
    const question = await agent.ask("go");
    await agent.toolgate.ledger.answer(question.report.approvals[0]?.approvalId as string, { type: "approve" });
    const { messages } = (await agent.state()).values as { messages: AIMessage[] };
    const { id, response_metadata } = messages.at(-1) as AIMessage;
    const tool_calls = [{ ...act({ p: "\ud83d" }, "c1"), args: { p: "\ud83d" }, type: "tool_call" as const }];
    const edited = new AIMessage({ content: "", id: id as string, response_metadata, tool_calls });
    await agent.toolgate.graph.updateState(thread, { messages: [edited] } as never, "model");
    const turn = await agent.ask(undefined);
    expect(outcomes(turn).at(-1)).toBe("c1 rejected invalid_arguments");
    expect(sent()).toEqual([]);
  });

  test("a person's edit that holds one is not taken, and the question stays", async () => {
    const agent = await start([{ calls: [act({ p: "a" }, "c1")] }, DONE]);
    const question = await agent.ask("go");
    const edit = { type: "edit", editedAction: { name: "mcp__hostile__act", args: { p: "\ud83d" } } };
    const again = await agent.resume({ decisions: { [question.report.approvals[0]?.approvalId as string]: edit } });
    expect(again.interrupt?.["note"]).toContain("cannot be taken");
    expect(again.report.approvals).toEqual(question.report.approvals);
    expect(sent()).toEqual([]);
  });
});

// Refused are numbers that are not finite; what a double rounds is not refused but shown, digested and sent rounded.
// Numbers that differ for a program were one in the canonical form, and large integers lost digits.
test("numbers are shown, digested and sent as the one value they were read as; what is not finite is refused", async () => {
  const raw = ["-0", "1e2", "1.0", "12345678901234567890", "1e999", "-1e999"];
  const calls = raw.map((number) => act(`{"n":${number}}`, number));
  const agent = await start([{ calls }, DONE]);
  const question = await agent.ask("go");
  const read = [
    ["-0", 0, '{"n":0}'],
    ["1e2", 100, '{"n":100}'],
    ["1.0", 1, '{"n":1}'],
    ["12345678901234567890", 12345678901234567000, '{"n":12345678901234567000}'],
  ] as const;
  const actions = question.interrupt?.["actionRequests"] as { description: string; argumentsDigest: string }[];
  expect(question.report.approvals.map((one) => one.callId)).toEqual(read.map(([text]) => text));
  expect(actions.map((one) => /^n: .*$/m.exec(one.description.replace(/^ +/gm, ""))?.[0])).toEqual(
    read.map(([, value]) => `n: ${value}`),
  );
  expect(actions.map((one) => one.argumentsDigest)).toEqual(read.map(([, , canonical]) => sha256(canonical)));
  const turn = await agent.resume(approve(question));
  expect(sent()).toEqual(read.map(([, n]) => ({ n })));
  expect(Object.is((sent()[0] as { n: number }).n, 0)).toBe(true);
  expect(outcomes(turn).slice(-2)).toEqual(["1e999 rejected invalid_arguments", "-1e999 rejected invalid_arguments"]);
  expect(toolTexts(turn).filter((text) => text.includes("a number is too large"))).toHaveLength(2);
});

test("a number that is not finite is refused as data too", async () => {
  const numbers = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN];
  const calls = numbers.map((n) => act({ n }, String(n)));
  const turn = await (await start([{ calls }, DONE], {})).ask("go");
  expect(outcomes(turn)).toEqual(numbers.map((n) => `${n} rejected invalid_arguments`));
  expect(sent()).toEqual([]);
});

// A key stood twice: the viewer showed the first value, and the parser took the last.
describe("a key that stands twice", () => {
  const twice = [
    '{"amount":1,"amount":1000}',
    '{"amount":1,"\\u0061mount":1000}',
    '{"to":{"a":1,"a":2}}',
    '{"a":1,"a":1}',
  ];

  test("is refused however it is spelled, and shown to nobody; the call beside it is", async () => {
    const calls = [...twice.map((text, index) => act(text, `twice ${index}`)), act({ amount: 1 }, "once")];
    const agent = await start([{ calls }, DONE]);
    const question = await agent.ask("go");
    expect(question.report.approvals.map((one) => [one.callId, one.arguments])).toEqual([["once", { amount: 1 }]]);
    const turn = await agent.resume(approve(question));
    expect(outcomes(turn)).toEqual([
      "once ok success",
      ...twice.map((_, index) => `twice ${index} rejected invalid_arguments`),
    ]);
    expect(sent()).toEqual([{ amount: 1 }]);
    for (const text of toolTexts(turn).slice(1)) expect(text).toContain("stands twice in one object");
  });
});

// The same two failures, in what a person types: a key that stands twice, and half of a surrogate pair.
describe("what a person types", () => {
  let place: Workspace | undefined;
  afterEach(() => place?.end());

  test.each([
    ["a key twice", '{"environment":"a","environment":"b"}', "stands twice in one object"],
    ["half a pair", '{"environment":"\\ud83d"}', "half of a surrogate pair"],
    ["a number without end", '{"environment":1e999}', "a number is too large"],
  ])("%s is a wrong command line: nothing is answered, nothing sent", async (_, args, problem) => {
    place = new Workspace();
    const calls = [{ name: "mcp__deploy__trigger", args: { environment: "staging" }, id: "c1" }];
    place.configure([{ calls }, DONE], { mcpServers: { deploy: place.server("deploy") } });
    const here = { cwd: place.folder };
    const config = ["--config", join(place.folder, "toolgate.json")];
    const asked = await inProcessJson(["run", "go", "--thread", "t1", ...config], here);
    const id = asked.value.approvals[0].approvalId as string;
    const edit = await inProcess(["edit", id, "--args", args, ...config], here);
    expect([edit.code, edit.stderr]).toEqual([2, expect.stringContaining(problem)]);
    const open = await inProcessJson(["approvals", ...config], here);
    expect(open.value.approvals).toMatchObject([{ approvalId: id, arguments: { environment: "staging" } }]);
    expect(place.log("accepted")).toEqual([]);
  });
});

// MACs were compared byte by byte with an early exit, in hex of either case, and also without a key.
describe("the seal on a verdict", () => {
  const SECRET = "0123456789abcdef0123456789abcdef";
  const OTHER = "fedcba9876543210fedcba9876543210";
  const verdict: Omit<Verdict, "mac"> = {
    approvalId: "a1",
    operationId: "1".repeat(64),
    threadId: "thread",
    scope: "local",
    argumentsDigest: "2".repeat(64),
    toolDigest: "3".repeat(64),
    type: "approve",
    approver: "ann",
    at: 1,
    expiresAt: 2,
  };
  const spoilt = {
    "cut short": (mac: string) => mac.slice(0, -2),
    longer: (mac: string) => `${mac}00`,
    "twice over": (mac: string) => `${mac}${mac}`,
    "in upper case": (mac: string) => mac.toUpperCase(),
    "with a space": (mac: string) => `${mac} `,
    "with a line feed": (mac: string) => `${mac}\n`,
    "with another last digit": (mac: string) => mac.slice(0, -1) + (mac.endsWith("0") ? "1" : "0"),
    empty: () => "",
    "under the empty key": () => seal(verdict, "").mac,
  };

  test.each(Object.entries(spoilt))("a MAC %s is none, and comparing it throws nothing", (_, spoil) => {
    const good = seal(verdict, SECRET);
    expect(good.mac).toMatch(/[a-f]/); // upper case is another text
    expect(sealed(good, SECRET)).toBe(true);
    expect(sealed({ ...good, mac: spoil(good.mac) }, SECRET)).toBe(false);
  });

  test.each(["", "s".repeat(31)])("nothing starts with the key %j", async (secret) => {
    await expect(start([], { approvals: { secret } })).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringMatching(/`approvals\.secret` .*32/),
    });
  });

  test.each(["in upper case", "with another last digit", "empty"] as const)(
    "a stored yes whose MAC is %s runs nothing: it is asked again",
    async (name) => {
      const steps = [{ calls: [act({ p: 1 }, "c1")] }, DONE];
      const agent = await start(steps);
      const question = await agent.ask("go");
      await agent.toolgate.ledger.answer(question.report.approvals[0]?.approvalId as string, { type: "approve" });
      await agent.toolgate.close();
      const db = new Database(join(b.folder(), "store", "toolgate.sqlite"));
      const { verdict } = db.prepare("SELECT verdict FROM questions").get() as { verdict: string };
      const { mac, ...fields } = JSON.parse(verdict) as { mac: string };
      expect(mac).toMatch(/^[0-9a-f]{64}$/);
      db.prepare("UPDATE questions SET verdict = ?").run(JSON.stringify({ ...fields, mac: spoilt[name](mac) }));
      db.close();

      const other = await start(steps);
      const again = await other.ask(undefined);
      expect([again.report.status, sent()]).toEqual(["awaiting_approval", []]);
      const turn = await other.resume(approve(again));
      expect([turn.report.status, sent()]).toEqual(["done", [{ p: 1 }]]);
    },
  );

  // Elsewhere an old key is accepted until its approvals expire. Here there is one key; what was approved under
  // another must be approved again. A no needs no key: it stands.
  test("after the key is changed a yes must be given again, a no stands, and each call runs once", async () => {
    const steps = [{ calls: ["yes", "no", "open"].map((p) => act({ p }, p)) }, DONE];
    const under = (secret: string, ...previousSecrets: string[]) =>
      start(steps, { permissions: {}, approvals: { secret, previousSecrets } });
    const agent = await under(SECRET);
    const question = await agent.ask("go");
    const ids = new Map(question.report.approvals.map((one) => [one.callId, one.approvalId]));
    await agent.toolgate.ledger.answer(ids.get("yes") as string, { type: "approve" }, { approver: "ann" });
    await agent.toolgate.ledger.answer(ids.get("no") as string, { type: "reject" }, { approver: "ann" });
    expect((await agent.toolgate.ledger.requests()).map((one) => one.callId)).toEqual(["open"]);
    await agent.toolgate.close();

    const other = await under(OTHER, SECRET);
    expect((await other.toolgate.ledger.requests()).map((one) => one.callId)).toEqual(["yes", "open"]);
    await other.toolgate.ledger.answer(ids.get("open") as string, { type: "approve" }, { approver: "bob" });
    const still = await other.ask(undefined);
    expect(still.report.approvals.map((one) => one.callId)).toEqual(["yes"]);
    expect(sent()).toEqual([]);
    const turn = await other.resume(approve(still));
    expect(outcomes(turn)).toEqual(["yes ok success", "no rejected person", "open ok success"]);
    expect(sent()).toEqual([{ p: "yes" }, { p: "open" }]);
  });

  test("a kept key that others may read answers nothing; made its owner's again, it does", async () => {
    const place = new Workspace();
    try {
      const calls = [{ name: "mcp__deploy__trigger", args: { environment: "staging" }, id: "c1" }];
      place.configure([{ calls }, DONE], { mcpServers: { deploy: place.server("deploy") } });
      const here = { cwd: place.folder };
      const config = ["--config", join(place.folder, "toolgate.json")];
      const asked = await inProcessJson(["run", "go", "--thread", "t1", ...config], here);
      const id = asked.value.approvals[0].approvalId as string;
      const key = join(place.folder, ".toolgate", "secret");
      for (const mode of [0o640, 0o604, 0o620]) {
        chmodSync(key, mode);
        const { code, value } = await inProcessJson(["approve", id, ...config], here);
        expect([code, value.error.code]).toEqual([1, "store_failed"]);
        expect(value.error.message).toContain("may be read by others");
      }
      expect(place.log("accepted")).toEqual([]);
      chmodSync(key, 0o600);
      expect((await inProcessJson(["approve", id, ...config], here)).code).toBe(0);
      expect(place.log("effect")).toHaveLength(1);
    } finally {
      await place.end();
    }
  });
});

/** The value with the keys of each object put in another order, as far as JavaScript lets them be. */
function shuffled(value: unknown, random: () => number): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => shuffled(item, random));
  const entries = Object.entries(value).map((entry) => ({ entry, at: random() }));
  return Object.fromEntries(
    entries.sort((one, two) => one.at - two.at).map(({ entry: [key, item] }) => [key, shuffled(item, random)]),
  );
}

/** The value with its keys in order, as pairs: equal text means equal data. */
function ordered(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(ordered);
  return {
    pairs: Object.entries(value)
      .sort(([one], [two]) => (one < two ? -1 : 1))
      .map(([key, item]) => [key, ordered(item)]),
  };
}
