// The demos, played whole: every line they print is pinned, ids aside, and every verdict holds.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

const gate = `\
The model of this demo is scripted: it says what a file tells it to say. What is shown is the gate.

1. Allowed: the host has a rule for it
   $ toolgate run "What does main.py need?" --thread allowed
   mcp__docs__search_docs (read): allow → ok (success)
   the model: Running main.py needs a permission for that one run.
   done, exit code 0
   verdict: held: the call reached the server once, and nobody was asked
   (by the servers' log: {"exit":0,"arrived":1,"asked":0})

2. Asked and approved: no rule names it, so a person decides
   $ toolgate run "Deploy to staging." --thread asked
   mcp__deploy__trigger (write): ask → proposed
   awaiting_approval, exit code 3
   $ toolgate approve <id>
   mcp__deploy__trigger (write): ask → ok (success)
   the model: Staging is deployed.
   done, exit code 0
   verdict: held: nothing was deployed before the yes, and exactly what was shown after it
   (by the servers' log: {"exits":[3,0],"early":0,"late":1,"sent":{"environment":"staging"}})

3. Denied: although its server says that it only reads
   $ toolgate run "How many deployments were there?" --thread denied
   mcp__deploy__status (write): deny → rejected (denied)
   the model: I was not allowed to look.
   done, exit code 0
   verdict: held: the call did not reach the server
   (by the servers' log: {"exit":0,"arrived":0})

4. Killed in mid-write, and resumed in a new process
   $ toolgate run "Deploy the nightly build." --thread killed
   (killed with SIGKILL while the server was still at work)
   $ toolgate run --thread killed
   mcp__deploy__trigger (write): allow → result_unknown (host_gone)
   result_unknown, exit code 4
   $ toolgate resolve <id> --happened
   mcp__deploy__trigger (write): allow → ok (resolved)
   the model: The nightly build is deployed.
   done, exit code 0
   verdict: held: one deployment, never two; unknown was said out loud until a person settled it
   (by the servers' log: {"exits":[4,0],"effects":1})

All four verdicts held.
`;

const documents = `\
The model of this demo is scripted: it says what a file tells it to say. What is shown is the gate.

1. Searched, read, proposed, approved: what was shown is what is in the file
   $ toolgate run "What has to be repaired on the Old Mill bridge before winter? Save a report." --thread approved
   mcp__documents__search_documents (read): allow → ok (contract)
   mcp__documents__read_document (read): allow → ok (contract)
   mcp__documents__read_document (read): allow → ok (contract)
   mcp__documents__save_report (write): ask → proposed
   awaiting_approval, exit code 3
   the candidate: old-mill-bridge.md, 359 bytes
   | # Old Mill bridge: repairs before winter
   |
   | 1. Pier 2 is washed out 30 cm deep: repair it before the floods of early December.
   | 2. Two posts of the north railing are loose: repair them within a month.
   |
   | Only Béton & Söhne would be ready in time: 18 400 €, by 28 November.
   | Until then the inspectors advise a limit of 7.5 t.
   |
   | Sources: inspection.md, repairs.md
   |
   $ toolgate approve <id>
   mcp__documents__save_report (write): ask → ok (contract)
   the model: The report is saved.
   done, exit code 0
   verdict: held: no file before the yes; after it the file is the candidate, byte for byte
   (by the server's log and the files: {"exits":[3,0],"early":[],"late":["old-mill-bridge.md"],"identical":true,"effects":1})

2. Edited: the person changes the candidate
   $ toolgate run "What has to be repaired on the Old Mill bridge before winter? Save a report." --thread edited
   mcp__documents__search_documents (read): allow → ok (contract)
   mcp__documents__read_document (read): allow → ok (contract)
   mcp__documents__read_document (read): allow → ok (contract)
   mcp__documents__save_report (write): ask → proposed
   awaiting_approval, exit code 3
   the candidate: old-mill-bridge.md, 359 bytes, as above
   - Until then the inspectors advise a limit of 7.5 t.
   + Until then the inspectors advise a limit of 3.5 t.
   $ toolgate edit <id> --args '{"filename":"old-mill-bridge.md","content":"# Old Mill bridge: repairs before winter\\n\\n1. Pier 2 is…'
   mcp__documents__save_report (write): ask → rejected (edited)
   mcp__documents__save_report (write): ask → ok (contract)
   the model: The report is saved as you changed it.
   done, exit code 0
   verdict: held: the proposal was settled as edited, and the file is the person's text and not the model's
   (by the server's log and the files: {"exit":0,"saves":["rejected (edited)","ok (contract)"],"identical":true,"proposed":false,"effects":1})

3. Refused: the person says no
   $ toolgate run "What has to be repaired on the Old Mill bridge before winter? Save a report." --thread refused
   mcp__documents__search_documents (read): allow → ok (contract)
   mcp__documents__read_document (read): allow → ok (contract)
   mcp__documents__read_document (read): allow → ok (contract)
   mcp__documents__save_report (write): ask → proposed
   awaiting_approval, exit code 3
   the candidate: old-mill-bridge.md, 359 bytes, as above
   $ toolgate reject <id> --reason "the council's figures come first"
   mcp__documents__save_report (write): ask → rejected (person)
   the model: The report was not saved: you want the council's figures first.
   done, exit code 0
   verdict: held: no file, and nothing of the report reached the server
   (by the server's log and the files: {"exit":0,"files":[],"arrived":0})

4. Lost: the server is killed after it made the file and before it answered
   $ toolgate run "What has to be repaired on the Old Mill bridge before winter? Save a report." --thread lost
   mcp__documents__search_documents (read): allow → ok (contract)
   mcp__documents__read_document (read): allow → ok (contract)
   mcp__documents__read_document (read): allow → ok (contract)
   mcp__documents__save_report (write): ask → proposed
   awaiting_approval, exit code 3
   the candidate: old-mill-bridge.md, 359 bytes, as above
   $ toolgate approve <id>
   mcp__documents__save_report (write): ask → ok (read_back)
   the model: The report is saved.
   done, exit code 0
   verdict: held: the read-back found the file: nobody was asked, and there is no second one
   (by the server's log and the files: {"exit":0,"answered":0,"save":["ok (read_back)"],"unknown":0,"files":["old-mill-bridge.md"],"identical":true,"arrived":1})

All held: no report without a yes, each exactly as it was shown, and none written twice.
`;

/** Runs an example to its end. */
async function played(file: string): Promise<{ out: string; errors: string; code: number }> {
  const child = spawn(process.execPath, ["--import", "tsx", file], { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  let [out, errors] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const [code] = (await once(child, "close")) as [number];
  return { out: out.replace(/\b[0-9a-f]{32,64}\b/g, "<id>"), errors, code };
}

test("npm run demo (G3) (G4) (G6) (G7)", { timeout: 180_000 }, async () => {
  expect(await played("examples/demo.ts")).toEqual({ out: gate, errors: "", code: 0 });
});

test("npm run demo:documents (G4) (G6) (G7)", { timeout: 180_000 }, async () => {
  expect(await played("examples/documents.ts")).toEqual({ out: documents, errors: "", code: 0 });
});
