// The host's own bounds on results: the number of blocks, characters and kinds. Bytes are bounded where the answer arrives.

import type { Limits } from "../contracts/index.js";
import { toBody } from "./body.js";

/** Says why a result is not taken; undefined when it is within the limits. Never throws. */
export function resultProblem(result: unknown, limits: Limits): string | undefined {
  const fields = record(result);
  const content = Array.isArray(fields.content) ? fields.content : [];
  const structured = fields.structuredContent;
  if (limits.resultBlocks !== undefined && content.length > limits.resultBlocks) {
    return `the result has ${content.length} content blocks, at most ${limits.resultBlocks} are taken`;
  }
  if (limits.resultKinds === "text") {
    if (structured !== undefined) return "the result has structured content, only text is taken";
    if (content.length === 0) return "the result is empty, at least one text block is expected";
    for (const item of content) {
      const block = record(item);
      if (block.type !== "text" || typeof block.text !== "string") return "the result has a block that is not text";
      if (block.text.trim() === "") return "the result has an empty text block";
    }
  }
  if (limits.resultChars !== undefined) {
    const chars = content.reduce((sum: number, item) => sum + charsOf(item), 0) + structuredChars(structured);
    if (chars > limits.resultChars) {
      return `the result has ${chars} characters, at most ${limits.resultChars} are taken`;
    }
  }
  return undefined;
}

/** Characters of a block: of its text, or of the text of the resource it embeds. */
function charsOf(item: unknown): number {
  const block = record(item);
  const text = typeof block.text === "string" ? block.text : record(block.resource).text;
  return typeof text === "string" ? [...text].length : 0;
}

function structuredChars(value: unknown): number {
  return value === undefined ? 0 : [...toBody(value)].length;
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
