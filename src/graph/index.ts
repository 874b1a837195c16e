// The graph room: seven nodes, the routes between them, and what a host asks of them.

export * from "./build.js";
export * from "../execution/built-ins.js";
export * from "./catalog.js";
export * from "./host.js";
export * from "../report/records.js";
export * from "../report/report.js";
export * from "./state.js";
