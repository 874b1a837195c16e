// The nouns of toolgate, declared once: a zod schema and its type under one name.

export * from "./accepted.js";
export * from "./alias.js";
export * from "./built-ins.js";
export * from "./config.js";
export * from "./digest.js";
export * from "./errors.js";
export * from "./look-alike.js";
export * from "./mcp-port.js";
export * from "./near.js";
export * from "./object.js";
export * from "./operation.js";
export * from "./outcome.js";
export * from "./report-shapes.js";
export * from "./row.js";
export * from "./signal.js";
export * from "./snapshot.js";
export * from "./text.js";
export * from "./thread-id.js";
export * from "./verdict.js";
export * from "./view.js";
