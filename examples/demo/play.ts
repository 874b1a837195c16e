// Play: acts one after the other, each with a verdict that is computed from what was seen, and the count of those that broke.

import { Stage, say, type Told } from "./stage.js";

/** A sentence, and what was seen beside what was promised. */
export interface Verdict {
  readonly promise: string;
  readonly seen: Readonly<Record<string, unknown>>;
  readonly promised: Readonly<Record<string, unknown>>;
}

export interface Act {
  readonly title: string;
  readonly play: (stage: Stage) => Promise<Verdict>;
}

export interface Words {
  /** Where what is seen comes from. */
  readonly witness: string;
  /** The last line when every verdict held. */
  readonly held: string;
}

/** Plays all acts on one stage. Resolves with the exit code: 1 when a verdict is broken. */
export async function playAll(acts: readonly Act[], { witness, held: allHeld }: Words): Promise<0 | 1> {
  console.log("The model of this demo is scripted: it says what a file tells it to say. What is shown is the gate.\n");
  const stage = new Stage();
  let failed = 0;
  try {
    for (const [index, { title, play }] of acts.entries()) {
      console.log(`${index + 1}. ${title}`);
      const { promise, seen, promised } = await play(stage);
      const held = JSON.stringify(seen) === JSON.stringify(promised);
      if (!held) failed += 1;
      console.log(`   verdict: ${held ? "held" : "BROKEN"}: ${promise}`);
      console.log(`   (by ${witness}: ${JSON.stringify(seen)})\n`);
    }
  } finally {
    await stage.close();
  }
  console.log(failed === 0 ? allHeld : `${failed} of ${acts.length} verdicts are broken.`);
  return failed === 0 ? 0 : 1;
}

/** What a run came to, in a line for each call and one for the answer. */
export function tell({ exitCode, report }: Told): void {
  for (const { alias, effect, decision, status, reason } of report.operations)
    say(`${alias} (${effect}): ${decision ?? "no decision"} → ${status}${reason === null ? "" : ` (${reason})`}`);
  if (report.answer !== "") say(`the model: ${report.answer}`);
  say(`${report.status}, exit code ${exitCode}`);
}
