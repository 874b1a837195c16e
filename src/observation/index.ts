// Observation: what the model may read. Pure but for the result store port.

export * from "./advice.js";
export * from "./body.js";
export * from "./limits.js";
export * from "./message.js";
export * from "./page.js";
export * from "./plain.js";
export * from "./redact.js";
export * from "./results.js";
export * from "./text.js";
