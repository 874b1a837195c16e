import { afterEach, describe, expect, it } from "vitest";
import { createOwner } from "../../src/adapters/process/owner.js";
import { type Owner, sha256 } from "../../src/contracts/index.js";
import { type Child, startChild } from "./ledger-processes.js";

const [one, two] = [sha256("one"), sha256("two")];
const children: Child[] = [];

afterEach(async () => {
  for (const child of children.splice(0)) await child.end("SIGKILL");
});

describe("owner", () => {
  it("W4 is alive for what it holds, while it holds it, until it ends", () => {
    const { owner, liveness, hold, release, end } = createOwner();
    expect(liveness(owner, one)).toBe("gone");
    hold(one);
    expect(liveness(owner, one)).toBe("alive");
    expect(liveness(owner, two)).toBe("gone");
    release(one);
    expect(liveness(owner, one)).toBe("gone");
    hold(two);
    end();
    expect(liveness(owner, two)).toBe("gone");
  });

  it("W4 two owners of one process are told apart and know of each other", () => {
    const [a, b] = [createOwner(), createOwner()];
    expect(a.owner.instance).not.toBe(b.owner.instance);
    a.hold(one);
    expect(b.liveness(a.owner, one)).toBe("alive");
    expect(b.liveness(b.owner, one)).toBe("gone");
    a.end();
    expect(b.liveness(a.owner, one)).toBe("gone");
  });

  it("W5 of an owner that another copy of the module made in this process nothing is known", () => {
    const { owner, liveness, hold } = createOwner();
    hold(one);
    expect(liveness({ ...owner, instance: "another-copy/1" }, one)).toBe("unknown");
    expect(liveness({ ...owner, instance: owner.instance.replace(/.$/, "~") }, one)).toBe("gone");
  });

  it("W1 nothing is known of another process while it lives, and gone once it was killed", async () => {
    const child = startChild("idle");
    children.push(child);
    const other = (await child.said()) as Owner;
    const { liveness } = createOwner();
    expect(other.pid).toBe(child.process.pid);
    expect(liveness(other, one)).toBe("unknown");
    await child.end("SIGKILL");
    expect(liveness(other, one)).toBe("gone");
  });

  it("W2 a process that has the number of an earlier one is not that one", () => {
    const { owner, liveness, hold } = createOwner();
    hold(one);
    expect(liveness({ ...owner, started: "another boot:1" }, one)).toBe("gone");
    expect(liveness({ ...owner, pid: process.ppid, started: "another boot:1" }, one)).toBe("gone");
  });

  it("W3 nothing is known of another machine", () => {
    const { owner, liveness, hold } = createOwner();
    hold(one);
    expect(liveness({ ...owner, machine: "elsewhere" }, one)).toBe("unknown");
  });
});
