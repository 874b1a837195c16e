// What the host's own `decide` may say of a call, and what its silence means.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DecisionKind } from "../../src/contracts/index.js";
import { type Decide, type DecideCall, hostDecision } from "../../src/gate/host-decision.js";

const CALL: DecideCall = {
  alias: "mcp__shop__pay",
  server: "shop",
  tool: "pay",
  arguments: { to: { name: "ada" }, amounts: [1, 2] },
  effect: "write",
  decision: { kind: "allow", rules: ["mcp__shop"], reason: "allowed by `mcp__shop`" },
  threadId: "t1",
  scope: "local",
  identity: "ada",
};
const ASKED = { ...CALL, decision: { kind: "ask" as const, rules: [], reason: "no rule matches this call" } };

/** Timers that pass when the test says so. */
function timers() {
  const waiting = new Set<() => void>();
  return {
    pass: () => {
      for (const one of waiting) one();
    },
    after: () => {
      let cancel = () => {};
      const elapsed = new Promise<void>((resolve) => {
        cancel = () => resolve();
        waiting.add(resolve);
      });
      return { elapsed, cancel };
    },
  };
}

function of(decide: unknown, { after } = timers()) {
  const redact = (text: string) => text.replaceAll("s3cret", "[redacted]");
  return hostDecision(decide as Decide, { timeoutMs: 50, after, redact });
}

const kinds = async (decide: unknown) => {
  const host = of(decide);
  const [one, other] = await Promise.all([host.of("a", CALL, "anew"), host.of("b", ASKED, "anew")]);
  return [one?.kind, other?.kind];
};

// A host's callback that was forgotten to answer let calls run.
describe("silence denies (host-2)", () => {
  test.each<[string, unknown]>([
    [
      "throws",
      () => {
        throw new Error("no");
      },
    ],
    [
      "rejects",
      async () => {
        throw new Error("no");
      },
    ],
    ["returns undefined", () => undefined],
    ["returns null", () => null],
    ["returns true", () => true],
    ["says another word", () => "ALLOW"],
    ["names another kind", async () => ({ kind: "permit" })],
    ["answers in other words", () => ({ behavior: "allow" })],
    ["returns a list", () => ["allow"]],
    [
      "returns a trap",
      () => ({
        get kind() {
          throw new Error("trap");
        },
      }),
    ],
    ["is no function", "allow"],
  ])("it %s", async (_what, decide) => {
    expect(await kinds(decide)).toEqual(["deny", "deny"]);
  });

  test("it does not answer in time; others are answered meanwhile, and it is told", async () => {
    const clock = timers();
    let signal: AbortSignal | undefined;
    const decide = (call: DecideCall, options: { signal: AbortSignal }) => {
      if (call.identity === "bob") return "allow";
      signal = options.signal;
      return new Promise(() => {});
    };
    const host = of(decide, clock);
    const silent = host.of("a", CALL, "anew");
    expect((await host.of("b", { ...CALL, identity: "bob" }, "anew")).kind).toBe("allow");
    expect(signal?.aborted).toBe(false);
    clock.pass();
    expect(await silent).toEqual({
      kind: "deny",
      rules: [],
      reason: "denied: the host's `decide` did not answer within 50 ms",
    });
    expect(signal?.aborted).toBe(true);
  });

  test("what it throws is not shown", async () => {
    const host = of(() => {
      throw new Error("postgres://user:s3cret@host");
    });
    expect((await host.of("a", CALL, "anew")).reason).toBe("denied: the host's `decide` failed");
  });
});

describe("it tightens only (host-1, host-3)", () => {
  test.each<[DecisionKind, string[]]>([
    ["allow", ["allow", "ask"]],
    ["ask", ["ask", "ask"]],
    ["deny", ["deny", "deny"]],
  ])("%s over allow and ask", async (kind, expected) => {
    expect(await kinds(() => kind)).toEqual(expected);
    expect(await kinds(async () => ({ kind }))).toEqual(expected);
  });

  test("where it changes nothing the rules are named, otherwise its reason is", async () => {
    const host = of(({ tool }: DecideCall) => ({
      kind: tool === "pay" ? "ask" : "allow",
      reason: "over\nlimit s3cret",
    }));
    expect((await host.of("a", ASKED, "anew")).reason).toBe("no rule matches this call");
    expect(await host.of("b", { ...CALL, tool: "x" }, "anew")).toBe(
      CALL.decision === undefined ? undefined : CALL.decision,
    );
    expect(await host.of("c", CALL, "anew")).toEqual({
      kind: "ask",
      rules: [],
      reason: "asked about by the host's `decide`: over limit [redacted]",
    });
  });

  test("of several answers about one call the strictest holds, in whatever order they come", async () => {
    const kind = fc.constantFrom<DecisionKind>("allow", "ask", "deny");
    const rank = { allow: 0, ask: 1, deny: 2 };
    await fc.assert(
      fc.asyncProperty(fc.array(kind, { minLength: 1, maxLength: 5 }), kind, async (answers, before) => {
        const left = [...answers];
        const host = of(() => left.shift());
        const call = { ...CALL, decision: { ...CALL.decision, kind: before } };
        let strictest = rank[before];
        for (const answer of answers) {
          strictest = Math.max(strictest, rank[answer]);
          expect(rank[(await host.of("a", call, "anew")).kind]).toBe(strictest);
        }
        expect(rank[(await host.of("a", call, "never")).kind]).toBe(strictest);
      }),
    );
  });

  test("an answer is for one call of one thread in one scope", async () => {
    const answers: DecisionKind[] = ["deny", "allow", "allow", "allow"];
    const host = of(() => answers.shift());
    const said = [
      await host.of("a", CALL, "once"),
      await host.of("b", CALL, "once"),
      await host.of("a", { ...CALL, threadId: "t2" }, "once"),
      await host.of("a", { ...CALL, scope: "acme" }, "once"),
      await host.of("a", CALL, "once"),
    ];
    expect(said.map((one) => one.kind)).toEqual(["deny", "allow", "allow", "allow", "deny"]);
    expect(answers).toEqual([]);
  });

  test("whatever closes a call asks nobody", async () => {
    let asked = 0;
    const host = of(() => {
      asked += 1;
      return "deny";
    });
    expect((await host.of("a", CALL, "never")).kind).toBe("allow");
    expect(asked).toBe(0);
  });
});

// A callback changed the arguments that a person had approved.
test("it is given a copy that is frozen to the bottom", async () => {
  const given = structuredClone(CALL);
  let seen: DecideCall | undefined;
  const host = of((call: DecideCall) => {
    seen = call;
    (call.arguments["to"] as { name: string }).name = "eve";
    return "allow";
  });
  expect((await host.of("a", given, "anew")).kind).toBe("deny"); // it threw
  expect(seen).toEqual(CALL);
  expect(given).toEqual(CALL);
  expect(Object.isFrozen(given.arguments)).toBe(false);
  expect([Object.isFrozen(seen), Object.isFrozen(seen?.arguments["amounts"]), Object.isFrozen(seen?.decision)]).toEqual(
    [true, true, true],
  );
});
