// The catalog room: what servers list, checked and assembled into the snapshot a model is shown.

export * from "./assemble.js";
export * from "./checker.js";
export * from "./discover.js";
export { type SchemaLimits, schemaProblem } from "./schema.js";
export { toolDigest } from "./tool.js";
