// The demo, played whole: every line it prints is pinned, ids aside, and every verdict holds.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

const transcript = `\
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

test("npm run demo (G3, G4, G6, G7)", { timeout: 180_000 }, async () => {
  const child = spawn(process.execPath, ["--import", "tsx", "examples/demo.ts"], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [out, errors] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const [code] = await once(child, "close");
  expect({ out: out.replace(/\b[0-9a-f]{32,64}\b/g, "<id>"), errors, code }).toEqual({
    out: transcript,
    errors: "",
    code: 0,
  });
});
