// The approval room: what a person is asked, what they answered, the seal on it, and the grant a server gets.

export * from "./answer.js";
export * from "./grant.js";
export * from "./question.js";
export * from "./seal.js";
