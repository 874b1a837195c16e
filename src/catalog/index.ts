// The catalog room: checks what servers list and assembles it into the snapshot that a model is shown.

export * from "./assemble.js";
export { differenceOf } from "./difference.js";
export { knownTool, knownTools } from "./known.js";
export * from "./schema-checker.js";
export { type SchemaLimits, schemaProblem } from "./schema-problem.js";
export { toolDigest } from "./tool.js";
