// The approval room: what a person is asked, what they answered, and the seal on it.

export * from "./answer.js";
export * from "./question.js";
export * from "./seal.js";
