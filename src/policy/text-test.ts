// Text test: `reports/**` or `append` in a rule, compared with an argument that is text.
//
// A test that is written with a `/`, or begins with `~` or `.`, is one for paths. It then also minds what only a path can
// mean: drives, addresses, names that a shell fills in.
//
//   text-1. An allow covers a value in its strict form that its glob covers as it is written.
//   text-2. A deny or an ask covers a value if its glob covers it as it is written, or if its loose form covers one of the
//           value's. There `X/**` covers `X`, and `**/X` covers `X` in the first folder.
//   text-3. A deny or an ask covers every value that has no normal form; an allow covers none.

import { type Glob, matches, overlap, pathGlob, wideGlob } from "./glob.js";
import { expandable, isStrict, looseForm } from "./spelling.js";

export interface TextTest {
  readonly isPath: boolean;
  readonly strict: Glob;
  readonly written: Glob;
  /** Of the loose form; none where the test has no such form itself. */
  readonly loose: readonly Glob[];
  /** No value in strict form is covered. */
  readonly futile: boolean;
}

export function textTest(text: string, isPath = text.includes("/") || /^[~.]/u.test(text)): TextTest {
  const form = looseForm(text, isPath);
  const forms = form === undefined ? [] : [form, ...(form.endsWith("/**") ? [form.slice(0, -3)] : [])];
  return {
    isPath,
    strict: pathGlob(text.normalize("NFC")),
    written: pathGlob(text),
    loose: forms.map(wideGlob), // text-2
    futile: !isStrict(text.normalize("NFC").replaceAll("*", "x"), isPath),
  };
}

/** Whether an allow with this test covers the value. (text-1) */
export function strictlyCovers({ strict, isPath }: TextTest, value: string): boolean {
  return isStrict(value, isPath) && matches(strict, value);
}

/** Whether a deny or an ask with this test covers the value. (text-2) */
export function looselyCovers({ written, loose, isPath }: TextTest, value: string): boolean {
  const form = looseForm(value, isPath);
  if (form === undefined || matches(written, value)) return true; // text-3
  const wild = expandable(form);
  const read = wild === undefined ? undefined : pathGlob(wild);
  return loose.some((glob) => matches(glob, form) || (read !== undefined && overlap(glob, read)));
}
