// The graph room: seven nodes, the routes between them, and what a host asks of them.

export * from "./build.js";
export * from "./builtins.js";
export * from "./catalog.js";
export * from "./host.js";
export * from "./records.js";
export * from "./report.js";
export * from "./state.js";
