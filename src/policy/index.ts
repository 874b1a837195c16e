// The policy room: decides what may run and what is asked about, and resolves what the host declares of its tools.

export * from "./budget.js";
export type { ToolWithSchema } from "./fit.js";
export * from "./judge.js";
export { tightened } from "./news.js";
export { hiddenBy, idleEntries, isHidden, isHiding, type OfferTerms } from "./offered.js";
export { namesTool, POLICY_FINDINGS, type PolicyContext, type PolicyFinding, type Target } from "./pattern.js";
export * from "./rules.js";
export * from "./settings.js";
