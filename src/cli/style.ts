// Colour at a terminal that wants it, and nowhere else. See https://no-color.org.

import type { Io, Output } from "./io.js";

export interface Style {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly warn: (text: string) => string;
}

/** How to write to one stream. */
export function styleOf(stream: Output, env: Io["env"]): Style {
  const noColor = env["NO_COLOR"] !== undefined && env["NO_COLOR"] !== "";
  const colours = stream.isTTY === true && !noColor && env["TERM"] !== "dumb";
  const wrap = (code: number) => (text: string) => (colours ? `\u001b[${code}m${text}\u001b[0m` : text);
  return { bold: wrap(1), dim: wrap(2), warn: wrap(33) };
}
