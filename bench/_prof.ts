import { Session } from "node:inspector/promises";
import { writeFileSync } from "node:fs";
import { callStep, startAgent } from "./agent.js";
const n = Number(process.argv[2]); const effect = process.argv[3] as "read"; const tools = Number(process.argv[4] ?? 20);
const steps = Array.from({ length: n }, (_, k) => [callStep(k), { say: `That was number ${k}.` }]).flat();
const a = await startAgent({ tools, effect }, { calls: n, steps });
const s = new Session(); s.connect(); await s.post("Profiler.enable"); await s.post("Profiler.setSamplingInterval", {interval: 200});
const turn = (k: number) => a.toolgate.graph.invoke({messages:[{role:"user",content:`Question ${k}: what?`}]}, {configurable:{thread_id:"bench"}, durability:"sync"});
async function prof(from: number, to: number) {
  await s.post("Profiler.start");
  for (let k = from; k < to; k++) await turn(k);
  return (await s.post("Profiler.stop")).profile;
}
function summarize(p: any, turns: number) {
  const self = new Map<number, number>(); const dt = p.timeDeltas; p.samples.forEach((id: number, i: number) => self.set(id, (self.get(id) ?? 0) + dt[i]));
  const byId = new Map<number, any>(p.nodes.map((x: any) => [x.id, x]));
  const byFn = new Map<string, number>();
  for (const [id, us] of self) { const { callFrame: f } = byId.get(id); const k = `${f.functionName}@${f.url.split("/").slice(-3).join("/")}:${f.lineNumber}`; byFn.set(k, (byFn.get(k) ?? 0) + us); }
  // inclusive
  const incl = new Map<string, number>();
  const walk = (id: number, stack: Set<string>): number => { const x = byId.get(id); const f = x.callFrame; const k = `${f.functionName}@${f.url.split("/").slice(-3).join("/")}:${f.lineNumber}`; const fresh = !stack.has(k); if (fresh) stack.add(k); let t = self.get(id) ?? 0; for (const c of x.children ?? []) t += walk(c, stack); if (fresh) { stack.delete(k); incl.set(k, (incl.get(k) ?? 0) + t); } return t; };
  walk(p.nodes[0].id, new Set());
  const fmt = (m: Map<string, number>) => new Map([...m].map(([k, v]) => [k, v / 1000 / turns]));
  return { self: fmt(byFn), incl: fmt(incl) };
}
for (let k = 0; k < 20; k++) await turn(k);
const early = summarize(await prof(20, 60), 40);
for (let k = 60; k < n - 40; k++) await turn(k);
const late = summarize(await prof(n - 40, n), 40);
for (const kind of ["self", "incl"] as const) {
  console.log("== growth", kind, "ms/turn late early");
  const keys = new Set([...early[kind].keys(), ...late[kind].keys()]);
  const rows = [...keys].map((k) => [k, late[kind].get(k) ?? 0, early[kind].get(k) ?? 0] as const).filter(([k]) => !k.startsWith("(idle)")).sort((a, b) => (b[1] - b[2]) - (a[1] - a[2]));
  for (const [k, l, e] of rows.slice(0, kind === "self" ? 30 : 60)) console.log(l.toFixed(2), e.toFixed(2), k);
}
console.log("== late self");
for (const [k, v] of [...late.self].filter(([k]) => !k.startsWith("(idle)")).sort((a, b) => b[1] - a[1]).slice(0, 30)) console.log(v.toFixed(2), k);
await a.remove();
