// The read-back's own care: who lives, and what is on disk before yes is said.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Io, nodeIo } from "../../../servers/documents/io.js";
import { lineOf } from "../../../servers/documents/journal.js";
import { lives, ownLife } from "../../../servers/documents/life.js";
import { operationsIn } from "../../../servers/documents/operations.js";
import { getOperation } from "../../../servers/documents/readback.js";
import { openWorkspace, type Workspace } from "../../../servers/documents/workspace.js";
import { sha256 } from "./place.js";

describe("a process", () => {
  const stat = (pid: number): string[] => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  const lifeOf = (pid: number) => ({ pid, started: `${boot}:${stat(pid)[19]}` });

  test("lives as itself, and not as one that had its id before it or in another boot (documents-life-1)", () => {
    const own = ownLife();
    expect(own).toEqual(lifeOf(process.pid));
    expect(lives(own)).toBe(true);
    expect(lives({ ...own, started: `${boot}:1` })).toBe(false);
    expect(lives({ ...own, started: own.started.replace(boot, "another-boot") })).toBe(false);
    expect(lives({ ...own, pid: 2 ** 22 + 1 })).toBe(false); // above the highest id there is
  });

  test("lives while it is stopped, and not once it has ended and its parent does not look (documents-life-1) (documents-life-2)", async () => {
    // The shell becomes a program that never asks after its child.
    const parent = spawn("sh", ["-c", "sleep 1000 & echo $!; exec sleep 1000"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      const [line] = (await once(createInterface({ input: parent.stdout }), "line")) as [string];
      const child = lifeOf(Number(line));
      // Until then the shell may ask after its child.
      await expect.poll(() => readFileSync(`/proc/${parent.pid}/comm`, "utf8"), { interval: 5 }).toBe("sleep\n");
      process.kill(child.pid, "SIGSTOP");
      expect(lives(child)).toBe(true);
      process.kill(child.pid, "SIGKILL");
      while (stat(child.pid)[0] !== "Z") {} // takes the kernel a moment
      expect(lives(child)).toBe(false);
    } finally {
      parent.kill("SIGKILL");
    }
  });
});

describe("what was found stays (documents-readback-2)", () => {
  const id = "a".repeat(64);
  const content = "text\n";
  const begun = { filename: "a.md", bytes: 5, sha256: sha256(content), pid: 2 ** 22 + 1, started: "gone" };
  let root = "";
  let workspace: Workspace;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "toolgate-readback-"));
    mkdirSync(join(root, "sources"));
    workspace = openWorkspace(root, nodeIo);
    writeFileSync(join(root, "reports/a.md"), content);
    writeFileSync(join(root, ".operations", id), Buffer.concat([lineOf({ begun }), lineOf({ created: true })]));
  });
  afterEach(() => {
    workspace.close();
    rmSync(root, { recursive: true });
  });

  /** Asks with an Io whose fsync is watched. */
  function asked(fsync: (name: string) => void) {
    workspace.close();
    const io: Io = {
      ...nodeIo,
      fsync(fd) {
        fsync(basename(readlinkSync(`/proc/self/fd/${fd}`)));
        nodeIo.fsync(fd);
      },
    };
    workspace = openWorkspace(root, io);
    const { reports, operations } = workspace;
    const deps = { reports, operations: operationsIn(operations, io, () => 7), life: ownLife(), io };
    return getOperation(id, deps).data;
  }

  test("yes is said once the file, its name and the answer are on disk", () => {
    const synced: string[] = [];
    expect(asked((name) => synced.push(name))).toMatchObject({ carried_out: true, final: true });
    expect(synced).toEqual(["a.md", "reports", id]);
  });

  test.each(["a.md", "reports"])("a disk that does not keep `%s` leaves it open", (broken) => {
    const told = asked((name) => {
      if (name === broken) throw Object.assign(new Error("no"), { code: "EIO" });
    });
    expect(told).toMatchObject({
      carried_out: null,
      final: false,
      detail: "`a.md` has the whole content, but it cannot be made sure that it stays: EIO",
    });
    expect(asked(() => {})).toMatchObject({ carried_out: true, final: true });
  });

  test("an answer that cannot be written down is said all the same", () => {
    const told = asked((name) => {
      if (name === id) throw Object.assign(new Error("no"), { code: "ENOSPC" });
    });
    expect(told).toMatchObject({ carried_out: true, final: true });
  });
});
