// Held directories: what gets out of them (nothing), and what is made in them.

import { execFileSync } from "node:child_process";
import {
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Folder, openFolder } from "../../../servers/documents/folder.js";
import { nodeIo, writeAll } from "../../../servers/documents/io.js";
import { openWorkspace } from "../../../servers/documents/workspace.js";

let outside = "";
let path = "";
let folder: Folder;

beforeEach(() => {
  outside = mkdtempSync(join(tmpdir(), "toolgate-folder-"));
  path = join(outside, "inside");
  mkdirSync(path);
  writeFileSync(join(outside, "secret.md"), "secret");
  folder = openFolder(path, nodeIo);
});
afterEach(() => {
  folder.close();
  rmSync(outside, { recursive: true });
});

const ownDescriptors = (): number => readdirSync("/proc/self/fd").length;
const kind = (name: string): string => folder.read(name, 100).kind;

describe("reading", () => {
  test("a regular file of at most the bytes asked for", () => {
    writeFileSync(join(path, "a.md"), "x".repeat(100));
    expect(folder.read("a.md", 100)).toEqual({ kind: "file", bytes: Buffer.from("x".repeat(100)) });
    expect(folder.read("a.md", 99)).toEqual({ kind: "too_large", size: 100 });
    expect(kind("absent.md")).toBe("absent");
  });

  test("a link, a directory, a pipe, a socket, a device and a hard link are told apart from a file, and nothing blocks (documents-folder-3)", async () => {
    symlinkSync("../secret.md", join(path, "link.md"));
    symlinkSync("absent.md", join(path, "dangling.md"));
    mkdirSync(join(path, "folder.md"));
    execFileSync("mkfifo", [join(path, "pipe.md")]);
    linkSync(join(outside, "secret.md"), join(path, "hard.md"));
    const socket = createServer();
    await new Promise<void>((resolve) => socket.listen(join(path, "socket.md"), resolve));
    try {
      expect(["link.md", "dangling.md", "folder.md", "pipe.md", "hard.md", "socket.md"].map(kind)).toEqual([
        "link",
        "link",
        "not_regular",
        "not_regular",
        "several_names",
        "not_regular",
      ]);
    } finally {
      await new Promise((resolve) => socket.close(resolve));
    }
    const devices = openFolder("/dev", nodeIo);
    expect([devices.read("zero", 10).kind, devices.read("tty", 10).kind]).not.toContain("file");
    devices.close();
  });

  test("/proc has files of size 0 with more in them: the bound holds for what is read, not for what is said (documents-folder-3)", () => {
    const proc = openFolder(`/proc/${process.pid}`, nodeIo);
    expect(proc.read("status", 10)).toEqual({ kind: "too_large", size: 11 });
    proc.close();
  });

  test.each([["../secret.md"], ["/etc/passwd"], ["folder/../../secret.md"], [".."], ["."], [""], ["a\u0000b"]])(
    "%j never becomes a path (documents-folder-2)",
    (name) => {
      mkdirSync(join(path, "folder"));
      expect(() => folder.read(name, 100)).toThrow("not a name");
      expect(() => folder.create(name)).toThrow("not a name");
    },
  );

  test("a directory that is swapped for a link keeps being the one that was opened (documents-folder-1)", () => {
    writeFileSync(join(path, "a.md"), "inside");
    renameSync(path, join(outside, "moved"));
    mkdirSync(join(outside, "evil"));
    writeFileSync(join(outside, "evil/a.md"), "outside");
    symlinkSync("evil", path);
    expect(folder.read("a.md", 100)).toEqual({ kind: "file", bytes: Buffer.from("inside") });
    nodeIo.close(folder.create("new.md"));
    expect(readdirSync(join(outside, "evil"))).toEqual(["a.md"]);
    expect(readdirSync(join(outside, "moved"))).toEqual(["a.md", "new.md"]);
    expect(folder.names()).toEqual(["a.md", "new.md"]);
  });

  test("whatever is read, no descriptor stays open", () => {
    writeFileSync(join(path, "a.md"), "x".repeat(200));
    mkdirSync(join(path, "folder.md"));
    symlinkSync("a.md", join(path, "link.md"));
    const before = ownDescriptors();
    for (const name of ["a.md", "folder.md", "link.md", "absent.md"])
      for (const most of [100, 300]) folder.read(name, most);
    folder.names();
    expect(ownDescriptors()).toBe(before);
  });
});

describe("making", () => {
  test("a file with mode 0600, where no name stands (documents-folder-4)", () => {
    const fd = folder.create("new.md");
    writeAll(nodeIo, fd, Buffer.from("text"));
    nodeIo.close(fd);
    expect(readFileSync(join(path, "new.md"), "utf8")).toBe("text");
    expect(lstatSync(join(path, "new.md")).mode & 0o777).toBe(0o600);
    expect(() => folder.create("new.md")).toThrow("EEXIST");
  });

  test("a link that leads nowhere is a name that stands (documents-folder-4)", () => {
    symlinkSync("../made.md", join(path, "new.md"));
    expect(() => folder.create("new.md")).toThrow("EEXIST");
    expect(readdirSync(outside)).toEqual(["inside", "secret.md"]);
  });

  test("appending follows no link and makes no file", () => {
    symlinkSync("../secret.md", join(path, "link.md"));
    expect(() => folder.append("link.md")).toThrow("ELOOP");
    expect(() => folder.append("absent.md")).toThrow("ENOENT");
    execFileSync("mkfifo", [join(path, "pipe.md")]);
    expect(() => folder.append("pipe.md")).toThrow("ENXIO");
  });

  test("a write that takes fewer bytes goes on, one that takes none is an error", () => {
    const fd = folder.create("new.md");
    writeAll(
      { ...nodeIo, write: (to, bytes, offset) => nodeIo.write(to, bytes.subarray(0, offset + 3), offset) },
      fd,
      Buffer.from("12345678"),
    );
    expect(readFileSync(join(path, "new.md"), "utf8")).toBe("12345678");
    expect(() => writeAll({ ...nodeIo, write: () => 0 }, fd, Buffer.from("x"))).toThrow("nothing was written");
    nodeIo.close(fd);
    truncateSync(join(path, "new.md"));
  });
});

describe("the workspace", () => {
  const root = () => join(outside, "root");
  beforeEach(() => {
    mkdirSync(join(root(), "sources"), { recursive: true });
  });

  test("makes what is missing for nobody else to read, and gives its descriptors back", () => {
    const before = ownDescriptors();
    const workspace = openWorkspace(root(), nodeIo);
    expect(ownDescriptors()).toBe(before + 4);
    expect(readdirSync(root()).sort()).toEqual([".operations", "reports", "sources"]);
    expect([".operations", "reports"].map((name) => lstatSync(join(root(), name)).mode & 0o777)).toEqual([
      0o700, 0o700,
    ]);
    workspace.close();
    workspace.close();
    expect(ownDescriptors()).toBe(before);
    openWorkspace(root(), nodeIo).close();
  });

  test.each([["sources"], ["reports"], [".operations"]])(
    "`%s` that is a link is refused, also one that leads inside (documents-folder-5)",
    (name) => {
      mkdirSync(join(root(), "real"));
      rmSync(join(root(), name), { recursive: true, force: true });
      symlinkSync("real", join(root(), name));
      const before = ownDescriptors();
      expect(() => openWorkspace(root(), nodeIo)).toThrow(`cannot open \`${name}\`: it is a link or no directory`);
      expect(ownDescriptors()).toBe(before);
    },
  );

  test("`reports` that is a file, a root that is a link, no root, no `sources`: one sentence each (documents-folder-5)", () => {
    writeFileSync(join(root(), "reports"), "");
    expect(() => openWorkspace(root(), nodeIo)).toThrow("cannot open `reports`: it is a link or no directory");
    symlinkSync(root(), join(outside, "link"));
    const named = "cannot open the folder that DOCUMENTS_ROOT names";
    for (const link of ["link", "link/", "link/."])
      expect(() => openWorkspace(join(outside, link), nodeIo)).toThrow(`${named}: it is a link or no directory`);
    expect(() => openWorkspace(join(outside, "absent"), nodeIo)).toThrow(`${named}: it does not exist`);
    expect(() => openWorkspace(outside, nodeIo)).toThrow("cannot open `sources`: it does not exist");
  });
});
