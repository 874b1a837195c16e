// Cells: how many cells of a terminal's line a text takes. It is pure.
//
// Terminals disagree about many characters. Where they do, the larger number is taken: a line that is broken too early can
// still be read, but one that is broken too late is broken by the terminal, without the mark that says whose text it is.

import { charactersOf } from "../contracts/text.js";

const TAB = 8;

/** Cells of one character as a reader counts them, that begins in the cell `column`. */
export function cellsOf(character: string, column: number): number {
  if (character === "\t") return TAB - (column % TAB);
  let cells = 0;
  for (const codePoint of character) cells += cellsOfCodePoint(codePoint);
  return character.includes("\uFE0F") ? Math.max(2, cells) : cells; // a keycap is an emoji, too
}

/** Cells of a text that begins in the first cell of a line. */
export function widthOf(text: string): number {
  let column = 0;
  for (const { segment } of charactersOf(text)) column += cellsOf(segment, column);
  return column;
}

function cellsOfCodePoint(codePoint: string): number {
  if (/^[\x20-\x7E]$/.test(codePoint)) return 1;
  if (/[\p{Mn}\p{Me}\p{Cf}]/u.test(codePoint)) return 0;
  const value = codePoint.codePointAt(0) as number;
  // Below the first wide block (Hangul) and up to those of China and Japan, letters take one cell each.
  const narrow = value < 0x1100 || (value >= 0x1200 && value < 0x2e00);
  return narrow && /[\p{L}\p{N}\p{Mc}]/u.test(codePoint) ? 1 : 2; // a symbol may be an emoji
}
