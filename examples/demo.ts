// The demo: `npm run demo`. Four scenes, each played with the real command and real servers, each with a verdict that is
// computed from the servers' own log. No key and no network; ends with 1 when a verdict fails.

import { type Scene, Stage, say, type Told } from "./demo/stage.js";

/** A sentence, and what was seen beside what was promised. */
interface Verdict {
  readonly promise: string;
  readonly seen: Readonly<Record<string, unknown>>;
  readonly promised: Readonly<Record<string, unknown>>;
}

interface Act extends Scene {
  readonly title: string;
  readonly play: (stage: Stage, scene: Scene) => Promise<Verdict>;
}

const scenes: readonly Act[] = [
  {
    title: "Allowed: the host has a rule for it",
    config: "docs",
    script: "1-allowed",
    async play(stage, scene) {
      const before = stage.events("accepted").length;
      const run = await stage.toolgate(["run", "What does main.py need?", "--thread", "allowed"], scene);
      tell(run);
      return {
        promise: "the call reached the server once, and nobody was asked",
        seen: { exit: run.exitCode, arrived: stage.events("accepted").length - before, asked: asked(run) },
        promised: { exit: 0, arrived: 1, asked: 0 },
      };
    },
  },
  {
    title: "Asked and approved: no rule names it, so a person decides",
    config: "deploy",
    script: "2-asked",
    async play(stage, scene) {
      const before = stage.events("effect").length;
      const run = await stage.toolgate(["run", "Deploy to staging.", "--thread", "asked"], scene);
      tell(run);
      const early = stage.events("effect").length - before;
      const [question] = run.report.approvals;
      if (question === undefined) throw new Error("nothing was asked");
      const approved = await stage.toolgate(["approve", question.approvalId], scene);
      tell(approved);
      const [effect] = stage.events("effect").slice(before);
      return {
        promise: "nothing was deployed before the yes, and exactly what was shown after it",
        seen: {
          exits: [run.exitCode, approved.exitCode],
          early,
          late: stage.events("effect").length - before,
          sent: effect?.arguments,
        },
        promised: { exits: [3, 0], early: 0, late: 1, sent: question.arguments },
      };
    },
  },
  {
    title: "Denied: although its server says that it only reads",
    config: "deploy",
    script: "3-denied",
    async play(stage, scene) {
      const before = stage.events("accepted").length;
      const run = await stage.toolgate(["run", "How many deployments were there?", "--thread", "denied"], scene);
      tell(run);
      return {
        promise: "the call did not reach the server",
        seen: { exit: run.exitCode, arrived: stage.events("accepted").length - before },
        promised: { exit: 0, arrived: 0 },
      };
    },
  },
  {
    title: "Killed in mid-write, and resumed in a new process",
    config: "deploy",
    script: "4-killed",
    async play(stage, scene) {
      const before = stage.events("effect").length;
      await stage.killedInMidWrite(["run", "Deploy the nightly build.", "--thread", "killed"], scene);
      const resumed = await stage.toolgate(["run", "--thread", "killed"], scene);
      tell(resumed);
      const [unknown] = resumed.report.unknowns;
      if (unknown === undefined) throw new Error("nothing is unknown");
      const settled = await stage.toolgate(["resolve", unknown.operationId, "--happened"], scene);
      tell(settled);
      return {
        promise: "one deployment, never two; unknown was said out loud until a person settled it",
        seen: { exits: [resumed.exitCode, settled.exitCode], effects: stage.events("effect").length - before },
        promised: { exits: [4, 0], effects: 1 },
      };
    },
  },
];

/** What a run came to, in a line for each call and one for the answer. */
function tell({ exitCode, report }: Told): void {
  for (const { alias, effect, decision, status, reason } of report.operations)
    say(`${alias} (${effect}): ${decision ?? "no decision"} → ${status}${reason === null ? "" : ` (${reason})`}`);
  if (report.answer !== "") say(`the model: ${report.answer}`);
  say(`${report.status}, exit code ${exitCode}`);
}

function asked({ report }: Told): number {
  return report.operations.filter(({ decision }) => decision === "ask").length;
}

async function main(): Promise<number> {
  console.log("The model of this demo is scripted: it says what a file tells it to say. What is shown is the gate.\n");
  const stage = new Stage();
  let failed = 0;
  try {
    for (const [index, act] of scenes.entries()) {
      console.log(`${index + 1}. ${act.title}`);
      const { promise, seen, promised } = await act.play(stage, act);
      const held = JSON.stringify(seen) === JSON.stringify(promised);
      if (!held) failed += 1;
      console.log(`   verdict: ${held ? "held" : "BROKEN"}: ${promise}`);
      console.log(`   (by the servers' log: ${JSON.stringify(seen)})\n`);
    }
  } finally {
    await stage.close();
  }
  console.log(failed === 0 ? "All four verdicts held." : `${failed} of ${scenes.length} verdicts are broken.`);
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main();
