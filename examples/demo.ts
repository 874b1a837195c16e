// The demo: `npm run demo`. Four scenes, each played with the real command and real servers, each with a verdict that is
// computed from the servers' own log. No key and no network; ends with 1 when a verdict fails.

import { type Act, playAll, tell } from "./demo/play.js";
import type { Scene, Told } from "./demo/stage.js";

/** A configuration and a script of `demo/`. */
const scene = (config: "docs" | "deploy", DEMO_SCRIPT: string): Scene => ({
  config: `examples/demo/${config}.json`,
  env: { DEMO_SCRIPT },
});

const acts: readonly Act[] = [
  {
    title: "Allowed: the host has a rule for it",
    async play(stage) {
      const played = scene("docs", "1-allowed");
      const before = stage.events("accepted").length;
      const run = await stage.toolgate(["run", "What does main.py need?", "--thread", "allowed"], played);
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
    async play(stage) {
      const played = scene("deploy", "2-asked");
      const before = stage.events("effect").length;
      const run = await stage.toolgate(["run", "Deploy to staging.", "--thread", "asked"], played);
      tell(run);
      const early = stage.events("effect").length - before;
      const [question] = run.report.approvals;
      if (question === undefined) throw new Error("nothing was asked");
      const approved = await stage.toolgate(["approve", question.approvalId], played);
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
    async play(stage) {
      const played = scene("deploy", "3-denied");
      const before = stage.events("accepted").length;
      const run = await stage.toolgate(["run", "How many deployments were there?", "--thread", "denied"], played);
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
    async play(stage) {
      const played = scene("deploy", "4-killed");
      const before = stage.events("effect").length;
      await stage.killedInMidWrite(["run", "Deploy the nightly build.", "--thread", "killed"], {
        ...played,
        env: { ...played.env, DEMO_DELAY_MS: "60000" },
      });
      const resumed = await stage.toolgate(["run", "--thread", "killed"], played);
      tell(resumed);
      const [unknown] = resumed.report.unknowns;
      if (unknown === undefined) throw new Error("nothing is unknown");
      const settled = await stage.toolgate(["resolve", unknown.operationId, "--happened"], played);
      tell(settled);
      return {
        promise: "one deployment, never two; unknown was said out loud until a person settled it",
        seen: { exits: [resumed.exitCode, settled.exitCode], effects: stage.events("effect").length - before },
        promised: { exits: [4, 0], effects: 1 },
      };
    },
  },
];

function asked({ report }: Told): number {
  return report.operations.filter(({ decision }) => decision === "ask").length;
}

process.exitCode = await playAll(acts, { witness: "the servers' log", held: "All four verdicts held." });
