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
  it("is alive for what it holds, while it holds it, until it ends (owner-4)", () => {
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

  it("two owners of one process are told apart and know of each other (owner-4)", () => {
    const [a, b] = [createOwner(), createOwner()];
    expect(a.owner.instance).not.toBe(b.owner.instance);
    a.hold(one);
    expect(b.liveness(a.owner, one)).toBe("alive");
    expect(b.liveness(b.owner, one)).toBe("gone");
    a.end();
    expect(b.liveness(a.owner, one)).toBe("gone");
  });

  it("of an owner that another copy of the module made in this process only its process is known (owner-5)", () => {
    const { owner, liveness, hold } = createOwner();
    hold(one);
    expect(liveness({ ...owner, instance: "another-copy/1" }, one)).toBe("here");
    expect(liveness({ ...owner, instance: owner.instance.replace(/.$/, "~") }, one)).toBe("gone");
  });

  it("of another process is known that it runs on this machine, and gone once it was killed (owner-1) (owner-6)", async () => {
    const child = startChild("idle");
    children.push(child);
    const other = (await child.said()) as Owner;
    const { liveness } = createOwner();
    expect(other.pid).toBe(child.process.pid);
    expect(liveness(other, one)).toBe("here");
    await child.end("SIGKILL");
    expect(liveness(other, one)).toBe("gone");
  });

  it("a process that has the number of an earlier one is not that one (owner-2)", () => {
    const { owner, liveness, hold } = createOwner();
    hold(one);
    expect(liveness({ ...owner, started: "another boot:1" }, one)).toBe("gone");
    expect(liveness({ ...owner, pid: process.ppid, started: "another boot:1" }, one)).toBe("gone");
  });

  it("nothing is known of another machine (owner-3)", () => {
    const { owner, liveness, hold } = createOwner();
    hold(one);
    expect(liveness({ ...owner, machine: "elsewhere" }, one)).toBe("unknown");
  });
});
