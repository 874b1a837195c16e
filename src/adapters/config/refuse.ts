// Builds the error of a refused configuration: where it is wrong, what is wrong, and what to do next.

import { oneLine, ToolgateError } from "../../contracts/index.js";
import { pathText } from "./issues.js";
import { type Path, whereIs } from "./strict-json.js";

/** Builds a refusal: the place if it is known, then the sentence. The code is `config_invalid` unless given. */
export type Refuse = (path: Path, problem: string, hint: string, code?: "config_variable") => ToolgateError;

/** Refusals of one configuration. `file` is its name as the user gave it. */
export function refusals({ text, file }: { readonly text?: string; readonly file?: string }): Refuse {
  return (path, problem, hint, code) => {
    const at = text === undefined ? undefined : nearestPosition(text, path);
    const place = at === undefined ? "" : `${file === undefined ? "" : `${oneLine(file)}:`}${at.line}:${at.column}: `;
    const data = { ...(file === undefined ? {} : { path: file }), key: pathText(path), ...at };
    return new ToolgateError(code ?? "config_invalid", place + problem, hint, { data });
  };
}

/** Where the key stands; for a key that is missing, where the object stands that should have it. */
function nearestPosition(text: string, path: Path) {
  for (let length = path.length; length >= 0; length--) {
    const found = whereIs(text, path.slice(0, length));
    if (found) return found;
  }
  return undefined;
}
