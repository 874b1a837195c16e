// Who answers in a run, and in which scope it is: the host's word, read strictly.

import { describe, expect, test } from "vitest";
import { identityFrom } from "../../src/gate/identity.js";

const from = (said: unknown) => identityFrom(() => said, "office");
const NOBODY = { id: "unauthenticated", scope: "office" };

describe("identity", () => {
  test.each([
    ["a name", "ada", { id: "ada", scope: "office" }],
    ["a name and a scope", { id: "ada", scope: "ada's" }, { id: "ada", scope: "ada's" }],
    ["the default scope by name", { id: "ada", scope: "local" }, { id: "ada", scope: "local" }],
    [
      "nobody in a scope of the host's choice",
      { id: " ", scope: "guests" },
      { id: "unauthenticated", scope: "guests" },
    ],
    ["an id that is none", { id: 7, scope: "guests" }, { id: "unauthenticated", scope: "guests" }],
  ])("%s is taken as it is (identity-1)", (_what, said, expected) => {
    expect(from(said)).toEqual(expected);
  });

  test.each([
    ["nothing", undefined],
    ["null", null],
    ["spaces", "  "],
    ["NUL", "\u0000"],
    ["what has no width", "\u200b\u2060"],
    ["the blank of Braille", "\u2800"],
    ["a number", 7],
    ["an object that names no scope", { id: "ada" }],
    ["a list", ["ada", "mary"]],
    ["a promise of a name", Promise.resolve("ada")],
    ["a promise of a scope", Promise.resolve({ id: "ada", scope: "mary" })],
    ["a function", () => ({ id: "ada", scope: "mary" })],
  ])("%s is nobody, in the configuration's scope (identity-1)", (_what, said) => {
    expect(from(said)).toEqual(NOBODY);
  });

  test("an error is nobody, in the configuration's scope (identity-1)", () => {
    const fails = () => {
      throw new Error("the directory is down");
    };
    expect(identityFrom(fails, "office")).toEqual(NOBODY);
  });

  test.each([
    ["undefined", undefined, "it is undefined"],
    ["null", null, "it is null"],
    ["no characters", "", "it has no characters, too many, or such as cannot be shown"],
    ["a NUL", "ma\0ry", "it has no characters, too many, or such as cannot be shown"],
    ["256 characters", "m".repeat(256), "it has no characters, too many, or such as cannot be shown"],
  ])("a scope that was named and cannot be used is refused: %s (identity-2)", (_what, scope, why) => {
    expect(() => from({ id: "ada", scope })).toThrow(`\`identify\` gave a scope that cannot be used: ${why}`);
  });

  test("a scope that cannot even be read is refused, and one of a class is read (identity-2)", () => {
    class User {
      constructor(readonly name: string) {}
      get id() {
        return this.name;
      }
      get scope(): string {
        if (this.name === "") throw new Error("no name");
        return `of ${this.name}`;
      }
    }
    expect(from(new User("ada"))).toEqual({ id: "ada", scope: "of ada" });
    expect(() => from(new User(""))).toThrow("`identify` gave a scope that cannot be used");
  });
});
