// Strict JSON: reads what JSON.parse reads and refuses what JSON.parse would silently lose.
//
//   json-1. A value that is valid JSON, has no duplicate keys and breaks none of json-2 to json-4 reads as JSON.parse reads it.
//   json-2. A key that is in one object twice is refused, however it is spelled (`"a"` and `"\u0061"` are one key).
//   json-3. Keys named __proto__, lone surrogates and numbers too large for a double are refused: they have no digest.
//   json-4. Nesting is bounded, so no text can overflow the stack.
//   json-5. A refusal says what was found and where. Lines and columns count from 1, columns in UTF-16 units; a byte order
//           mark is no column. At most one character of the text is quoted, because a configuration may hold secrets.
//
// With `comments`, as in hand-edited files, it also takes `//` and `/* */` comments and a comma after the last item.

import { oneLine } from "../../contracts/text.js";

/** Deepest nesting that is read. */
export const MAX_JSON_DEPTH = 128;

/** A place in a text. Both numbers count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export type Path = readonly (string | number)[];

export type ParsedJson =
  | { readonly ok: true; readonly value: unknown }
  | ({ readonly ok: false; readonly problem: string } & Position);

export interface JsonOptions {
  /** Takes comments and trailing commas, as editors do in hand-edited files. @default false */
  readonly comments?: boolean;
  /** The value of a text of nothing but white space (and comments). Unset: such a text is refused. */
  readonly whenEmpty?: unknown;
  /** Where an object that is refused is read as its text, if its brackets are closed. @default nowhere */
  readonly rawAt?: (path: Path) => boolean;
}

/** Parses JSON; a byte order mark at the start is skipped. Never throws. */
export function parseStrictJson(text: string, options: JsonOptions = {}): ParsedJson {
  return parse(text, options, () => {});
}

/** Where the value at `path` begins (for a member: its key), or undefined when the text has no such value. */
export function whereIs(text: string, path: Path): Position | undefined {
  let found: number | undefined;
  const same = (other: Path) => other.length === path.length && other.every((part, at) => part === path[at]);
  parse(text, { comments: true }, (other, offset) => {
    if (found === undefined && same(other)) found = offset;
  });
  return found === undefined ? undefined : positionOf(text, found);
}

type Visit = (path: Path, offset: number) => void;

function parse(text: string, options: JsonOptions, visit: Visit): ParsedJson {
  try {
    return { ok: true, value: new Reader(text, options, visit).document() };
  } catch (cause) {
    if (!(cause instanceof Refusal)) throw cause;
    const problem = typeof cause.words === "string" ? cause.words : cause.words();
    return { ok: false, problem, ...positionOf(text, cause.offset) };
  }
}

/** `words` are made when they are read: to count lines takes as long as to read the text up to there. */
class Refusal {
  constructor(
    readonly words: string | (() => string),
    readonly offset: number,
  ) {}
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const WORD = /[\p{L}\p{N}_$]+/uy;
const LONE_SURROGATE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;
const ESCAPES = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" } as const;
const WORDS = new Map<string, unknown>([
  ["true", true],
  ["false", false],
  ["null", null],
]);

/** One pass over one text. `at` is the next character to read. */
class Reader {
  private at: number;
  private readonly path: (string | number)[] = [];

  constructor(
    private readonly text: string,
    private readonly options: JsonOptions,
    private readonly visit: Visit,
  ) {
    this.at = text.startsWith("\uFEFF") ? 1 : 0;
  }

  document(): unknown {
    this.skipSpace();
    if (this.at === this.text.length && this.options.whenEmpty !== undefined) return this.options.whenEmpty;
    this.visit(this.path, this.at);
    const value = this.value();
    this.skipSpace();
    if (this.at < this.text.length) this.refuse("the end of the text");
    return value;
  }

  private value(): unknown {
    const next = this.text[this.at];
    if (next === "{") return this.options.rawAt?.(this.path) ? this.objectOrText() : this.object();
    if (next === "[") return this.array();
    if (next === '"') return this.string();
    if (next === "-" || isDigit(next)) return this.number();
    const word = this.match(WORD);
    if (word === undefined || !WORDS.has(word)) this.refuse("a value");
    this.at += (word as string).length;
    return WORDS.get(word as string);
  }

  private object(): Record<string, unknown> {
    const value: Record<string, unknown> = {};
    const seen = new Map<string, number>();
    this.list("}", () => {
      const start = this.at;
      if (this.text[start] !== '"') this.refuse("a key in double quotes");
      const key = this.string();
      const first = seen.get(key);
      // json-2
      if (first !== undefined) {
        const line = () => positionOf(this.text, first).line;
        throw new Refusal(
          () => `the key \`${oneLine(key, 60)}\` stands twice in one object, first at line ${line()}`,
          start,
        );
      }
      if (key === "__proto__") throw new Refusal("a key named `__proto__` is not taken", start); // json-3
      seen.set(key, start);
      this.path.push(key);
      this.visit(this.path, start);
      this.skipSpace();
      if (this.text[this.at] !== ":") this.refuse("`:`");
      this.at++;
      this.skipSpace();
      value[key] = this.value();
      this.path.pop();
    });
    return value;
  }

  /** Reads the text at most twice, however it is refused. */
  private objectOrText(): unknown {
    const start = this.at;
    const depth = this.path.length;
    try {
      return this.object();
    } catch (cause) {
      const end = this.endOfBrackets(start);
      if (!(cause instanceof Refusal) || end === undefined) throw cause;
      this.path.length = depth;
      this.at = end;
      return this.text.slice(start, end);
    }
  }

  /** Where the bracket at `start` is closed, whatever stands between. */
  private endOfBrackets(start: number): number | undefined {
    let open = 0;
    for (let at = start; at < this.text.length; at++) {
      const next = this.text[at];
      if (next === "{" || next === "[") open++;
      else if (next === '"') {
        for (at++; this.text[at] !== '"'; at++) {
          if (at >= this.text.length) return undefined;
          if (this.text[at] === "\\") at++;
        }
      } else if ((next === "}" || next === "]") && --open === 0) return at + 1;
    }
    return undefined;
  }

  private array(): unknown[] {
    const value: unknown[] = [];
    this.list("]", () => {
      this.path.push(value.length);
      this.visit(this.path, this.at);
      value.push(this.value());
      this.path.pop();
    });
    return value;
  }

  /** Reads the brackets and commas of an object or an array. */
  private list(close: "}" | "]", item: () => void): void {
    if (this.path.length >= MAX_JSON_DEPTH) throw new Refusal(`nested deeper than ${MAX_JSON_DEPTH}`, this.at); // json-4
    this.at++;
    this.skipSpace();
    if (this.take(close)) return;
    for (;;) {
      item();
      this.skipSpace();
      if (this.take(close)) return;
      if (!this.take(",")) this.refuse(`\`,\` or \`${close}\``);
      this.skipSpace();
      if (this.options.comments && this.take(close)) return;
    }
  }

  private string(): string {
    const start = this.at++;
    let value = "";
    for (;;) {
      const from = this.at;
      while (this.at < this.text.length && isPlain(this.text.charCodeAt(this.at))) this.at++;
      value += this.text.slice(from, this.at);
      const next = this.text[this.at];
      if (next === undefined) throw new Refusal("a string has no closing quote", start);
      if (next === '"') break;
      if (next !== "\\") this.refuse("the rest of a string, where a control character must be escaped");
      value += this.escape();
    }
    this.at++;
    if (LONE_SURROGATE.test(value)) throw new Refusal("a string holds half of a surrogate pair", start); // json-3
    return value;
  }

  private escape(): string {
    const start = this.at;
    const kind = this.text[start + 1] ?? "";
    if (Object.hasOwn(ESCAPES, kind)) {
      this.at += 2;
      return ESCAPES[kind as keyof typeof ESCAPES];
    }
    const digits = this.text.slice(start + 2, start + 6);
    if (kind !== "u" || !/^[0-9a-fA-F]{4}$/.test(digits)) throw new Refusal("an escape that JSON does not have", start);
    this.at += 6;
    return String.fromCharCode(Number.parseInt(digits, 16));
  }

  private number(): number {
    const found = this.match(NUMBER);
    if (found === undefined) this.refuse("a number");
    const start = this.at;
    this.at += (found as string).length;
    const after = this.text[this.at];
    if (isDigit(after) || after === "." || after === "e" || after === "E") this.refuse("the end of a number");
    const value = Number(found);
    if (!Number.isFinite(value)) throw new Refusal("a number is too large", start); // json-3
    return value;
  }

  private skipSpace(): void {
    for (;;) {
      while (" \t\n\r".includes(this.text[this.at] ?? "x")) this.at++;
      if (!this.options.comments || this.text[this.at] !== "/") return;
      if (this.text[this.at + 1] === "/") {
        while (this.at < this.text.length && !"\n\r".includes(this.text[this.at] as string)) this.at++;
      } else if (this.text[this.at + 1] === "*") {
        const end = this.text.indexOf("*/", this.at + 2);
        if (end < 0) throw new Refusal("a comment has no closing `*/`", this.at);
        this.at = end + 2;
      } else {
        return;
      }
    }
  }

  private take(character: string): boolean {
    if (this.text[this.at] !== character) return false;
    this.at++;
    return true;
  }

  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    return pattern.exec(this.text)?.[0];
  }

  /** Says what was expected and which single character came (json-5). */
  private refuse(expected: string): never {
    throw new Refusal(`expected ${expected}, found ${this.found()}`, this.at);
  }

  private found(): string {
    const code = this.text.codePointAt(this.at);
    if (code === undefined) return "the end of the text";
    if (code === 0x2f && !this.options.comments) return "`/` (comments are not taken here)";
    if (code > 0x20 && code < 0x7f) return code === 0x60 ? "a backtick" : `\`${String.fromCodePoint(code)}\``;
    return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  }
}

function isDigit(character: string | undefined): boolean {
  return character !== undefined && character >= "0" && character <= "9";
}

/** A code unit that needs no escape in a string: no quote, no backslash, no control character. */
function isPlain(unit: number): boolean {
  return unit >= 0x20 && unit !== 0x22 && unit !== 0x5c;
}

/** Lines end with a line feed, a carriage return, or both. */
function positionOf(text: string, offset: number): Position {
  const before = text.slice(text.startsWith("\uFEFF") ? 1 : 0, offset).split(/\r\n|\n|\r/);
  return { line: before.length, column: (before[before.length - 1] as string).length + 1 };
}
