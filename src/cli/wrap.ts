// Wrap: breaks lines before the terminal does. It is pure.
//
//   wrap-1. Each part of a broken line begins with a mark: `> ` for a server's words, `  | ` for arguments, `  ↳ ` for a line of
//           toolgate's own, which may quote others. So no part of another's text can pose as a line of ours.
//   wrap-2. No part is wider than the terminal, nothing that is seen as one character is broken, and nothing is left out.
//   wrap-3. In lines of a value, a part that goes on ends with `\` in a column that no whole line reaches. So a broken line
//           and two lines look different.

import { charactersOf } from "../contracts/text.js";
import { cellsOf, widthOf } from "./cells.js";
import type { Output } from "./io.js";

const SERVERS = "> ";
const ARGUMENTS = "  | ";
const OURS = "  ↳ ";

/** A terminal that does not say how wide it is. */
const COLUMNS = 80;
/** The least that leaves room beside a mark. */
const LEAST = 20;

/** Cells of a line of a terminal. */
export const columnsOf = ({ columns }: Pick<Output, "columns">): number => Math.max(LEAST, columns || COLUMNS);

/** Text for a stream: broken into lines where that is a terminal. */
export const fitted = (stream: Output, text: string): string =>
  stream.isTTY === true ? wrapped(text, columnsOf(stream)) : text;

/** Breaks the lines of a text that are wider than a terminal of `columns` cells. Idempotent. */
export function wrapped(text: string, columns: number): string {
  const broken: string[] = [];
  let inArguments = false;
  for (const line of text.split("\n")) {
    if (line === "") inArguments = false;
    broken.push(...parts(line, columns - 1, inArguments)); // some terminals go on to the next line when the last cell is filled
    if (line.startsWith("Arguments (sha256 ")) inArguments = true;
  }
  return broken.join("\n");
}

function parts(line: string, width: number, inArguments: boolean): string[] {
  const mark = markOf(line, inArguments);
  const ofValue = line.startsWith(ARGUMENTS);
  const most = ofValue ? width - 1 : width; // wrap-3
  const characters = charactersIn(line);
  if (widthIn(characters) <= most) return [line];
  const made: string[] = [];
  let part: string[] = [];
  let column = 0;
  for (const character of characters) {
    const cells = cellsIn(character, column);
    if (column + cells > most && part.length > 0) {
      const rest = ofValue ? [] : afterLastSpace(part, mark);
      const whole = part.slice(0, part.length - rest.length).join("");
      made.push(ofValue ? `${whole}${" ".repeat(Math.max(0, most - column))}\\` : whole);
      part = [mark, ...rest];
      column = widthIn(part);
    }
    part.push(character);
    column += cellsIn(character, column);
  }
  return [...made, part.join("")];
}

/** What a broken line's parts begin with. (wrap-1) */
function markOf(line: string, inArguments: boolean): string {
  if (line.startsWith(SERVERS)) return SERVERS;
  return inArguments || line.startsWith(ARGUMENTS) ? ARGUMENTS : OURS;
}

/** The characters after the last space, when that stands in the second half: words are not broken where it can be avoided. */
function afterLastSpace(part: readonly string[], mark: string): string[] {
  const last = part.lastIndexOf(" ");
  return last > part.length / 2 && last > mark.length ? part.slice(last + 1) : [];
}

const COLOUR = /(\u001b\[\d*m)/;

/** The characters of a line. A colour counts as one: only this command writes them. */
function charactersIn(line: string): string[] {
  return line
    .split(COLOUR)
    .flatMap((piece) => (COLOUR.test(piece) ? [piece] : [...charactersOf(piece)].map(({ segment }) => segment)));
}

const cellsIn = (character: string, column: number): number =>
  COLOUR.test(character)
    ? 0
    : character === OURS || character === ARGUMENTS
      ? widthOf(character)
      : cellsOf(character, column);

function widthIn(characters: readonly string[]): number {
  return characters.reduce((column, character) => column + cellsIn(character, column), 0);
}
