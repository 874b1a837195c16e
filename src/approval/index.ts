// The approval room: what a person is asked, where the call goes, how their answer is read, the seal on a verdict, and the
// grant for a server.

export * from "./destination.js";
export * from "./grant.js";
export * from "./payload.js";
export * from "./read-answer.js";
export * from "./seal.js";
