// The prompt reads what was typed after its question was shown, and nothing else.

import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { createAsk, type Typed } from "../../src/cli/prompt.js";

/** A keyboard and a screen. `asked` resolves when the prompt is on the screen. */
function desk() {
  const keyboard = new PassThrough();
  const screen = new PassThrough();
  const stop = new AbortController();
  let shown = "";
  let look = () => {};
  screen.setEncoding("utf8").on("data", (text: string) => {
    shown += text;
    look();
  });
  const asked = (prompt: string): Promise<void> =>
    new Promise((resolve) => {
      look = () => {
        if (shown.includes(prompt)) resolve();
      };
      look();
    });
  return { keyboard, stop, asked, ask: createAsk(keyboard, screen, stop.signal), shown: () => shown };
}

/** Asks once; `type` happens after the question is there. */
async function ask(type: (keyboard: PassThrough, stop: AbortController) => void, before = ""): Promise<Typed> {
  const { keyboard, stop, asked, ask } = desk();
  if (before !== "") keyboard.write(before);
  const typed = ask("yes? ");
  await asked("yes? ");
  type(keyboard, stop);
  return typed;
}

describe("one line is read", () => {
  test("as it was typed", async () => {
    const typed = await ask((keyboard) => keyboard.write("approve\r"));
    expect(typed).toEqual({ kind: "line", text: "approve" });
  });

  test("keystroke by keystroke, corrections included", async () => {
    const typed = await ask((keyboard) => {
      for (const key of ["a", "p", "x", "\u007f", "p", "\r"]) keyboard.write(key);
    });
    expect(typed).toEqual({ kind: "line", text: "app" });
  });

  test("and the next question begins anew", async () => {
    const { keyboard, ask, asked } = desk();
    const first = ask("first? ");
    await asked("first? ");
    keyboard.write("one\r");
    expect(await first).toEqual({ kind: "line", text: "one" });
    const second = ask("second? ");
    await asked("second? ");
    keyboard.write("two\r");
    expect(await second).toEqual({ kind: "line", text: "two" });
  });
});

// A `y` or Enter that was typed before the question appeared counted as a yes.
describe("what was typed before the question does not count (prompt-1)", () => {
  test("a whole line", async () => {
    const typed = await ask((keyboard) => keyboard.write("reject\r"), "approve\n");
    expect(typed).toEqual({ kind: "line", text: "reject" });
  });

  test("half a line, finished after the question", async () => {
    const typed = await ask((keyboard) => keyboard.write("ve\r"), "appro");
    expect(typed).toEqual({ kind: "line", text: "ve" });
  });

  test("a line typed between two questions", async () => {
    const { keyboard, ask, asked } = desk();
    const first = ask("first? ");
    await asked("first? ");
    keyboard.write("one\r");
    await first;
    keyboard.write("approve\r");
    const second = ask("second? ");
    await asked("second? ");
    keyboard.write("two\r");
    expect(await second).toEqual({ kind: "line", text: "two" });
  });
});

describe("a paste of several lines is no answer (prompt-2)", () => {
  test.each(["approve\rapprove\r", "approve\nrm -rf build", "approve\r\rx"])("%j", async (paste) => {
    expect(await ask((keyboard) => keyboard.write(paste))).toEqual({ kind: "paste" });
  });
});

describe("no answer (prompt-3)", () => {
  test("Ctrl-C", async () => {
    expect(await ask((keyboard) => keyboard.write("appr\u0003"))).toEqual({ kind: "end" });
  });

  test("Ctrl-D", async () => {
    expect(await ask((keyboard) => keyboard.write("\u0004"))).toEqual({ kind: "end" });
  });

  test("the end of input in the middle of the word", async () => {
    expect(await ask((keyboard) => keyboard.end("approve"))).toEqual({ kind: "end" });
  });

  test("the end of input before the question", async () => {
    const { keyboard, ask } = desk();
    keyboard.end("approve\n");
    expect(await ask("yes? ")).toEqual({ kind: "end" });
  });

  test("a stop from outside", async () => {
    expect(await ask((_, stop) => stop.abort())).toEqual({ kind: "end" });
  });
});
