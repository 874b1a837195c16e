// The document workspace: `npm run demo:documents`. Four scenes in copies of examples/documents, played with the real
// command and the real server under toolgate.documents.json. Each verdict is computed from the server's own log and from
// the files that are there. No key and no network; ends with 1 when a verdict fails.

import { type Act, playAll, tell } from "./demo/play.js";
import { type Stage, say, type Told } from "./demo/stage.js";
import { lay, type Table } from "./demo/workspace.js";

const QUESTION = "What has to be repaired on the Old Mill bridge before winter? Save a report.";
const REPORT = "old-mill-bridge.md";

const acts: readonly Act[] = [
  {
    title: "Searched, read, proposed, approved: what was shown is what is in the file",
    async play(stage) {
      const table = lay(stage, "approved", { says: "The report is saved." });
      const { run, approvalId, content } = await propose(stage, table);
      const early = table.reports();
      const approved = await answer(stage, table, ["approve", approvalId]);
      return {
        promise: "no file before the yes; after it the file is the candidate, byte for byte",
        seen: {
          exits: [run.exitCode, approved.exitCode],
          early,
          late: table.reports(),
          identical: table.holds(REPORT, content),
          effects: table.events("effect").length,
        },
        promised: { exits: [3, 0], early: [], late: [REPORT], identical: true, effects: 1 },
      };
    },
  },
  {
    title: "Edited: the person changes the candidate",
    async play(stage) {
      const table = lay(stage, "edited", { says: "The report is saved as you changed it." });
      const { approvalId, content, args } = await propose(stage, table, true);
      const changed = content.replace("a limit of 7.5 t", "a limit of 3.5 t");
      showChange(content, changed);
      const edited = await answer(stage, table, [
        "edit",
        approvalId,
        "--args",
        JSON.stringify({ ...args, content: changed }),
      ]);
      return {
        promise: "the proposal was settled as edited, and the file is the person's text and not the model's",
        seen: {
          exit: edited.exitCode,
          saves: edited.report.operations.filter(isSave).map(({ status, reason }) => `${status} (${reason})`),
          identical: table.holds(REPORT, changed),
          proposed: table.holds(REPORT, content),
          effects: table.events("effect").length,
        },
        promised: {
          exit: 0,
          saves: ["rejected (edited)", "ok (contract)"],
          identical: true,
          proposed: false,
          effects: 1,
        },
      };
    },
  },
  {
    title: "Refused: the person says no",
    async play(stage) {
      const table = lay(stage, "refused", { says: "The report was not saved: you want the council's figures first." });
      const { approvalId } = await propose(stage, table, true);
      const refused = await answer(stage, table, [
        "reject",
        approvalId,
        "--reason",
        "the council's figures come first",
      ]);
      return {
        promise: "no file, and nothing of the report reached the server",
        seen: {
          exit: refused.exitCode,
          files: table.reports(),
          arrived: table.events("accepted").filter(isSave).length,
        },
        promised: { exit: 0, files: [], arrived: 0 },
      };
    },
  },
  {
    title: "Lost: the server is killed after it made the file and before it answered",
    async play(stage) {
      const table = lay(stage, "lost", { says: "The report is saved.", fault: "kill-after-write" });
      const { approvalId, content } = await propose(stage, table, true);
      const approved = await answer(stage, table, ["approve", approvalId]);
      return {
        promise: "the read-back found the file: nobody was asked, and there is no second one",
        seen: {
          exit: approved.exitCode,
          answered: table.events("finished").filter(isSave).length,
          save: approved.report.operations.filter(isSave).map(({ status, reason }) => `${status} (${reason})`),
          unknown: approved.report.unknowns.length,
          files: table.reports(),
          identical: table.holds(REPORT, content),
          arrived: table.events("accepted").filter(isSave).length,
        },
        promised: {
          exit: 0,
          answered: 0,
          save: ["ok (read_back)"],
          unknown: 0,
          files: [REPORT],
          identical: true,
          arrived: 1,
        },
      };
    },
  },
];

/** Asks the question, and shows the candidate that waits for an answer: whole, where it is new to who reads this. */
async function propose(stage: Stage, table: Table, seenBefore = false) {
  const run = await stage.here(["run", QUESTION, "--thread", table.thread], table.scene);
  tell(run);
  const [question] = run.report.approvals;
  if (question === undefined) throw new Error("nothing was asked");
  const args = question.arguments as { filename: string; content: string };
  const bytes = Buffer.byteLength(args.content);
  say(`the candidate: ${args.filename}, ${bytes} bytes${seenBefore ? ", as above" : ""}`);
  if (!seenBefore) for (const line of args.content.split("\n")) say(`| ${line}`.trimEnd());
  return { run, approvalId: question.approvalId, args, content: args.content };
}

async function answer(stage: Stage, table: Table, args: readonly string[]): Promise<Told> {
  const told = await stage.here(args, table.scene);
  tell({ ...told, report: { ...told.report, operations: told.report.operations.filter(isSave) } });
  return told;
}

function isSave({ tool }: { readonly tool?: string | null }): boolean {
  return tool === "save_report";
}

/** The lines that differ, as old and new. */
function showChange(from: string, to: string): void {
  const lines = to.split("\n");
  for (const [index, old] of from.split("\n").entries()) {
    if (old === lines[index]) continue;
    say(`- ${old}`);
    say(`+ ${lines[index]}`);
  }
}

process.exitCode = await playAll(acts, {
  witness: "the server's log and the files",
  held: "All held: no report without a yes, each exactly as it was shown, and none written twice.",
});
