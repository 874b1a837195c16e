// Compare: says what sets one call apart from the others of its tool, so that a person notices the one that is different.
//
// It is pure.

import { escapeHidden } from "../contracts/index.js";
import type { Question } from "./payload.js";
import { leaves } from "./show.js";

/** Paths named in one sentence. */
const NAMED = 12;

/** For each question a line on how it differs from the others of its tool; undefined when it is alone. */
export function differences(questions: readonly Question[]): (string | undefined)[] {
  const lines = new Map<Question, string>();
  for (const group of groups(questions)) {
    if (group.length < 2) continue;
    const values = group.map(({ operation }) => new Map(leaves(operation.arguments)));
    const common = commonValues(values);
    group.forEach((question, index) => {
      lines.set(question, describe(values[index] as Leaves, common, group.length));
    });
  }
  return questions.map((question) => lines.get(question));
}

type Leaves = ReadonlyMap<string, string>;

/** The value that more than half of the calls have at a path; null when no value is that common. `undefined` means absent. */
type Common = ReadonlyMap<string, { readonly value: string | undefined } | null>;

function groups(questions: readonly Question[]): Iterable<readonly Question[]> {
  const found = new Map<string, Question[]>();
  for (const question of questions) {
    const tool = JSON.stringify([question.operation.server, question.operation.tool]);
    found.set(tool, [...(found.get(tool) ?? []), question]);
  }
  return found.values();
}

/** Paths on which the calls differ, with their common value. Paths that are the same everywhere are left out. */
function commonValues(calls: readonly Leaves[]): Common {
  const common = new Map<string, { readonly value: string | undefined } | null>();
  for (const path of new Set(calls.flatMap((call) => [...call.keys()]))) {
    const counts = new Map<string | undefined, number>();
    for (const call of calls) counts.set(call.get(path), (counts.get(call.get(path)) ?? 0) + 1);
    if (counts.size === 1) continue;
    const most = [...counts].find(([, count]) => count > calls.length / 2);
    common.set(path, most ? { value: most[0] } : null);
  }
  return common;
}

function describe(own: Leaves, common: Common, count: number): string {
  const odd: string[] = [];
  const varying: string[] = [];
  for (const [path, most] of common) {
    if (most === null) varying.push(path);
    else if (own.get(path) !== most.value) odd.push(path);
  }
  const said = [
    odd.length > 0 ? ` UNLIKE MOST of them in ${named(odd)}.` : "",
    varying.length > 0 ? ` They differ in ${named(varying)}.` : "",
    common.size === 0 ? " Their arguments are equal." : "",
  ];
  return `One of ${count} calls of this tool that wait for an answer.${said.join("")}`;
}

function named(paths: readonly string[]): string {
  const shown = paths.slice(0, NAMED).map((path) => `\`${escapeHidden(path)}\``);
  return [...shown, ...(paths.length > NAMED ? [`${paths.length - NAMED} more`] : [])].join(", ");
}
