// The graph room: seven nodes and the routes between them.

export * from "./build.js";
export * from "./ports.js";
export * from "./state.js";
