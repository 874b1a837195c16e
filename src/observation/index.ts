// The observation room: what the model may read of a result. It is pure except for the port of the result store.

export * from "./advice.js";
export * from "./body.js";
export * from "./clean-text.js";
export * from "./limits.js";
export * from "./message.js";
export * from "./page.js";
export * from "./plain-data.js";
export * from "./redact.js";
export * from "./redacted-error.js";
export * from "./results.js";
export * from "./storable.js";
