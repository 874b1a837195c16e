// Policy: decides one call by the host's rules, the tool and the arguments.
//
// It is pure and synchronous. It reads no clock, does no I/O and never throws.
//
//   policy-1. Deny beats ask, and ask beats allow, whatever the order of the rules.
//   policy-2. A rule that cannot be evaluated never allows a call.
//   policy-3. A call that no rule matches gets the default, and the default is never allow.
//   policy-4. What a server says of itself does not count.
//   policy-5. Permissions with an error permit nothing.
//   policy-6. Built-ins are allowed unless a rule names them. A glob does not name them.

import {
  type Decision,
  type DecisionKind,
  type Finding,
  isBuiltIn,
  type JsonObject,
  oneLine,
  type Permissions,
  type WithheldTool,
} from "../contracts/index.js";
import { type ArgumentTest, meetsTests, readTests } from "./arguments.js";
import { isFor, type ToolWithSchema, unmeetable, untestable } from "./fit.js";
import {
  meets,
  type PolicyContext,
  type PolicyFinding,
  readPattern,
  ruleProblem,
  type Target,
  type ToolPattern,
} from "./pattern.js";

interface Rule {
  readonly kind: DecisionKind;
  readonly text: string;
  readonly pattern: ToolPattern;
  readonly tests: readonly ArgumentTest[];
}

/** Compiled permissions. */
export interface Policy {
  readonly rules: readonly Rule[];
  readonly fallback: Permissions["default"];
  /** A rule could not be read. */
  readonly broken: boolean;
}

const STRICTEST_FIRST = ["deny", "ask", "allow"] as const;
const DONE = { deny: "denied", ask: "asked about", allow: "allowed" } as const;

/** Compiles permissions. A finding of level `error` is a load error; until it is mended the policy denies everything. */
export function compilePolicy(
  permissions: Permissions,
  context: PolicyContext,
): { readonly policy: Policy; readonly findings: readonly Finding[] } {
  const rules: Rule[] = [];
  const findings: Finding[] = [];
  for (const kind of STRICTEST_FIRST) {
    for (const text of permissions[kind]) {
      const rule = readRule(kind, text, context);
      if ("level" in rule) {
        findings.push(rule);
        continue;
      }
      rules.push(rule);
      if (kind === "allow" && rule.tests.some((test) => test.futile)) {
        findings.push(problem("rule_futile", kind, text, "never matches: a value of that form cannot be evaluated"));
      }
    }
  }
  const broken = findings.some(({ level }) => level === "error");
  return { policy: { rules, fallback: permissions.default, broken }, findings };
}

/** Decides one call. Carries the texts of the rules that decided. */
export function decide(policy: Policy, target: Target, args: JsonObject): Decision {
  if (policy.broken) return { kind: "deny", rules: [], reason: "the permissions have an error and permit nothing" }; // policy-5
  const builtIn = isBuiltIn(target);
  const hits = policy.rules.filter((rule) => applies(rule, target, args));
  for (const kind of STRICTEST_FIRST) {
    const rules = [...new Set(hits.filter((rule) => rule.kind === kind).map((rule) => rule.text))];
    if (rules.length === 0) continue; // policy-1
    return { kind, rules, reason: `${DONE[kind]} by ${rules.map((text) => `\`${text}\``).join(", ")}` };
  }
  if (builtIn) return { kind: "allow", rules: [], reason: "built in, and no rule names it" }; // policy-6
  return { kind: policy.fallback, rules: [], reason: "no rule matches this call" }; // policy-3
}

/** Whether an allow that applies to the call names this very tool, and not a glob that covers it. */
export function allowedByName({ rules }: Policy, target: Target, args: JsonObject): boolean {
  const allows = rules.filter(({ kind, pattern }) => kind === "allow" && meets(pattern, target) === "name");
  return allows.some(({ tests }) => meetsTests(tests, args, "allow"));
}

/** Rules that match no tool. A rule is looked at only when every server that it can match is connected. */
export function unmatchedRules(
  policy: Policy,
  tools: readonly Target[],
  connectedServers: readonly string[],
): readonly Finding[] {
  return policy.rules
    .filter(({ pattern }) => pattern.servers.every((server) => connectedServers.includes(server)))
    .filter(({ pattern }) => !tools.some((target) => meets(pattern, target) !== undefined))
    .map(({ kind, text }) => problem("rule_unmatched", kind, text, "matches no tool that its server lists"));
}

/** How the reason begins, by which a tool that a deny withholds is told from one that is withheld for a fault. */
const DENIES = "`permissions.deny` ";

/** Whether a tool is withheld because a deny that is about it cannot be tested on it. */
export function isWithheldByDeny({ reason }: Pick<WithheldTool, "reason">): boolean {
  return reason.startsWith(DENIES);
}

/** Why a tool is withheld: a deny that is about it cannot be tested on it. Undefined when none is. (fit-1) */
export function withheldByDeny(policy: Policy, tool: ToolWithSchema): string | undefined {
  for (const rule of policy.rules) {
    if (rule.kind !== "deny" || rule.tests.length === 0 || !isFor(rule.pattern, tool)) continue;
    const why = untestable(rule, tool);
    if (why !== undefined) return `${DENIES}\`${oneLine(rule.text)}\` cannot be tested on it: ${why}`;
  }
  return undefined;
}

/** Rules that match tools, and whose condition no value can meet that their schemas allow; asks that cannot be tested. (fit-2) */
export function unfitRules(policy: Policy, tools: readonly ToolWithSchema[]): readonly Finding[] {
  return policy.rules.flatMap((rule) => {
    const matched = rule.tests.length === 0 ? [] : tools.filter((tool) => isFor(rule.pattern, tool));
    const whys = matched.map((tool) => untestable(rule, tool) ?? unmeetable(rule, tool));
    const [first] = matched;
    if (first === undefined || whys.includes(undefined)) return [];
    const asksAlways = rule.kind === "ask" && untestable(rule, first) !== undefined;
    const what = asksAlways ? "asks about every call of" : "never matches on";
    return [problem("rule_unfit", rule.kind, rule.text, `${what} \`${oneLine(first.alias, 80)}\`: ${whys[0]}`)];
  });
}

function applies(rule: Rule, target: Target, args: JsonObject): boolean {
  return isFor(rule.pattern, target) && meetsTests(rule.tests, args, rule.kind); // policy-2, policy-6
}

function readRule(kind: DecisionKind, text: string, context: PolicyContext): Rule | Finding {
  const parts = text.includes(")(") ? null : /^([^()]*)(?:\((.*)\))?$/s.exec(text); // two groups are no `(a:x, b:y)`
  if (parts === null)
    return problem("rule_malformed", kind, text, "has an argument test that is not `(param:glob, …)`");
  const tests = parts[2] === undefined ? [] : readTests(parts[2], kind);
  if (typeof tests === "string") return problem("rule_malformed", kind, text, tests);
  const pattern = readPattern(parts[1] as string, kind === "allow" ? "narrow" : "loose", context, where(kind));
  return "level" in pattern ? pattern : { kind, text, pattern, tests };
}

function problem(code: PolicyFinding, kind: DecisionKind, text: string, message: string): Finding {
  return ruleProblem(code, where(kind), text, message);
}

const where = (kind: DecisionKind): string => `permissions.${kind}`;
