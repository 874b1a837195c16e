import { measureTurns, measureCalls, median } from "./measure.js";
const n = Number(process.argv[2] ?? 60);
const which = process.argv[3] ?? "tc";
const tl = (process.argv[4] ?? "20,1000").split(",").map(Number);
const el = (process.argv[5] ?? "write,read").split(",") as ("read"|"write")[];
await measureTurns({tools: 20, effect: "read"}, 20);
for (const tools of tl) for (const effect of el) {
  if (which.includes("t")) {
  const t = await measureTurns({tools, effect}, n);
  const p = (a: readonly number[]) => median(a.slice(5,15)).toFixed(1) + " " + median(a.slice(-10)).toFixed(1) + " x" + (median(a.slice(-10))/median(a.slice(5,15))).toFixed(2);
  console.log("turns", tools, effect, t.bytes, t.bytesAtTen, "|", p(t.times), "| whole", p(t.wholeTimes), "| cpu", p(t.cpuTimes));
  console.log(Array.from({length: n/20}, (_, k) => median(t.cpuTimes.slice(20*k, 20*k+20)).toFixed(0)).join(" "));
  }
  if (which.includes("c")) {
  const c = await measureCalls({tools, effect}, n);
  const p = (a: readonly number[]) => median(a.slice(1,51)).toFixed(1) + " " + median(a.slice(-50)).toFixed(1) + " x" + (median(a.slice(-50))/median(a.slice(1,51))).toFixed(2);
  console.log("calls", tools, effect, c.bytes, c.bytesAtTen, "|", p(c.times), "| whole", p(c.wholeTimes), "| cpu", p(c.cpuTimes));
  console.log(Array.from({length: n/20}, (_, k) => median(c.cpuTimes.slice(20*k, 20*k+20)).toFixed(0)).join(" "));
  }
}
