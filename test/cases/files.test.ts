// Paths of files. Two places judge them: argument globs, which see text and no file system, and the server that owns the
// files (the documents server, test/servers/documents). The command is run as a process on odd files that toolgate itself
// opens: none of them may make it wait or read without end.

import { execFileSync } from "node:child_process";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Ended, Workspace } from "../cli/support.js";
import { answer, desk, READ, SAVE } from "../documents/desk.js";
import { bench, type Steps } from "../support/agent.js";
import { commandFile } from "../support/compile.js";
import { startHostile } from "./support.js";

const b = bench();

interface Judged {
  /** What becomes of a call with each path, by rule. */
  readonly decisions: Record<string, string | null>;
  /** The question's text for each path that is asked about. */
  readonly descriptions: Record<string, string>;
  /** Paths that reached the server after everything asked about was refused. */
  readonly sent: unknown[];
}

/** One message with a write for each path, under these rules; whoever is asked says no. */
async function judged(permissions: object, paths: readonly string[]): Promise<Judged> {
  const calls = paths.map((path) => ({ name: "mcp__hostile__act", args: { path }, id: JSON.stringify(path) }));
  const tools = [{ name: "act", inputSchema: { type: "object" } }];
  const limits = { calls: 100, writes: 100 };
  const agent = await startHostile(
    b,
    { tools },
    { steps: [{ calls }, { say: "Done." }], config: { permissions, limits } },
  );
  const turn = await agent.ask("go");
  const actions = (turn.interrupt?.["actionRequests"] ?? []) as { toolCallId: string; description: string }[];
  const no = Object.fromEntries(turn.report.approvals.map((one) => [one.approvalId, { type: "reject" }]));
  const { report } = actions.length > 0 ? await agent.resume({ decisions: no }) : turn;
  const decisions = Object.fromEntries(report.operations.map((one) => [JSON.parse(one.callId), one.decision]));
  return {
    decisions,
    descriptions: Object.fromEntries(actions.map((one) => [JSON.parse(one.toolCallId), one.description])),
    sent: b.log("effect").map((event) => (event.arguments as { path: string }).path),
  };
}

const all = (paths: readonly string[], kind: string) => Object.fromEntries(paths.map((path) => [path, kind]));

// A check by prefix let a call into the folder beside the one that was meant.
describe("prefixes and segments", () => {
  const allow = { allow: ["mcp__hostile__act(path:/data/app/**)"] };
  /** In the folder, as text and as a path. */
  const inside = ["/data/app/x", "/data/app/a/b"];
  /** Elsewhere: a glob compares segments. */
  const beside = ["/data/app-secret/x", "/data/app.bak/x", "data/app/x"];
  /** The folder itself, what some disks take for it, and what nobody can say where it leads. */
  const odd = [
    "/data/app",
    "/DATA/app/x",
    "/data/App/x",
    "/data/app/../etc/passwd",
    "/data//app/../x",
    "/data/app//x",
    "/data/app\u0000/x",
    "/data/app/./x",
    "/data/app/%2e%2e/x",
  ];

  test("an allow covers what is in the folder and nothing beside it or that leads out of it", async () => {
    const { decisions, sent } = await judged(allow, [...inside, ...beside, ...odd]);
    expect(decisions).toEqual({ ...all(inside, "allow"), ...all([...beside, ...odd], "ask") });
    expect(sent).toEqual(inside);
  });

  // On a disk that takes capitals for small letters `/DATA/app` is the folder, so a deny covers it.
  test("a deny also bites the folder itself, in capitals, and where nobody can say where a path leads", async () => {
    const deny = { deny: ["mcp__hostile__act(path:/data/app/**)"] };
    const { decisions, sent } = await judged(deny, [...inside, ...beside, ...odd]);
    expect(decisions).toEqual({ ...all([...inside, ...odd], "deny"), ...all(beside, "ask") });
    expect(sent).toEqual([]);
  });
});

// Globs judge text. That `out` is a link out of the root is for the server to see; what reaches it is exactly
// what the glob covered.
// A new file below a linked folder does not exist yet, so that the check fell back to the raw name.
test("below a folder that is named, also a new file's name is judged by its text alone", async () => {
  const paths = ["out/new.txt", "out/../new.txt", "out/a/new.txt", "./out/new.txt", "out\\new.txt"];
  const { decisions, sent } = await judged({ allow: ["mcp__hostile__act(path:out/*)"] }, paths);
  expect(decisions).toEqual({ ...all(paths, "ask"), "out/new.txt": "allow" });
  expect(sent).toEqual(["out/new.txt"]);
});

// Hard links show no link to resolve, pipes and devices block or never end, and proc gives other roots.
describe("devices, pipes, other roots, addresses", () => {
  const elsewhere = ["/dev/zero", "/proc/self/environ"];
  const odd = [
    "/dev/fd/0",
    "/proc/self/root/etc/passwd",
    "file:/etc/passwd",
    "file:///etc/passwd",
    "file://localhost/etc/passwd",
    "~",
    "~/x",
    "~root/x",
  ];

  test("no rule for a folder covers them", async () => {
    const allow = [
      "mcp__hostile__act(path:/data/**)",
      "mcp__hostile__act(path:reports/*)",
      "mcp__hostile__act(path:*)",
    ];
    const { decisions, sent } = await judged({ allow }, [...elsewhere, ...odd]);
    expect(decisions).toEqual(all([...elsewhere, ...odd], "ask"));
    expect(sent).toEqual([]);
  });

  test("a rule for everything covers what can be read as a path, and no address, link of a process or home", async () => {
    const { decisions } = await judged({ allow: ["mcp__hostile__act(path:**)"] }, [...elsewhere, ...odd]);
    expect(decisions).toEqual({ ...all(elsewhere, "allow"), ...all(odd, "ask") });
  });
});

// Alternate streams and direction marks hid a file's content or its extension.
describe("names of other systems, and names that look like others", () => {
  const odd = ["C:\\p\\README.md:x", "\\\\?\\C:\\x", "a.txt. ", "photo\u202egnp.exe", "a\u200b.txt", "\u{e0041}.txt"];
  const plain = ["CON", "a.txt.", "README.md:x"];

  // A host on Windows would have to deny all of them. toolgate does not know the names of Windows: a name without a
  // backslash is a name.
  test("none is in a folder that is named; by `*` only those that are names here", async () => {
    const folder = await judged({ allow: ["mcp__hostile__act(path:reports/*)"] }, [...odd, ...plain]);
    expect([folder.decisions, folder.sent]).toEqual([all([...odd, ...plain], "ask"), []]);
  });

  test("hidden characters are shown to the person, and a rule for every name does not cover them", async () => {
    const { decisions, descriptions, sent } = await judged({ allow: ["mcp__hostile__act(path:*)"] }, [
      ...odd,
      ...plain,
    ]);
    expect(decisions).toEqual({ ...all(odd, "ask"), ...all(plain, "allow") });
    expect(sent).toEqual(plain);
    expect(descriptions["photo\u202egnp.exe"]).toContain('path: "photo\\u{202E}gnp.exe"');
    expect(descriptions["a\u200b.txt"]).toContain('path: "a\\u{200B}.txt"');
    expect(descriptions["\u{e0041}.txt"]).toContain('path: "\\u{E0041}.txt"');
    expect(Object.values(descriptions).join("\n")).not.toMatch(/[\p{Cf}\p{Co}]/u);
  });
});

// All of these failures at once: neighbours by prefix, linked parents, odd kinds of files and odd names.
describe("through the gate to the server that owns the files", () => {
  const d = desk(b, "2025-11-25");
  const SECRET = "canary-outside-of-the-root-5a0e";
  const outside = (name = "") => join(b.folder(), "outside", name);
  beforeEach(() => {
    mkdirSync(outside());
    writeFileSync(outside("secret.md"), SECRET);
    mkdirSync(join(d.root(), "reports"), { mode: 0o700 });
  });
  /** Links, pipes and folders under names that are allowed. */
  const stand = (folder: string) => {
    const at = (name: string) => join(d.root(), folder, name);
    symlinkSync(outside("secret.md"), at("link.md"));
    symlinkSync(outside("new.md"), at("dangling.md"));
    linkSync(outside("secret.md"), at("hard.md"));
    execFileSync("mkfifo", [at("pipe.md")]);
    symlinkSync("/dev/zero", at("zero.md"));
    symlinkSync("/proc/self/environ", at("environ.md"));
    mkdirSync(at("folder.md"));
    return ["link.md", "dangling.md", "hard.md", "pipe.md", "zero.md", "environ.md", "folder.md"];
  };
  const untouched = () => {
    expect(readdirSync(outside())).toEqual(["secret.md"]);
    expect(readFileSync(outside("secret.md"), "utf8")).toBe(SECRET);
  };
  const each = (names: readonly string[], one: (name: string) => object): Steps[number] =>
    ({ calls: names.map((name) => ({ ...one(name), id: name })) }) as never;
  const read = (filename: string) => ({ name: READ, args: { filename } });
  const save = (filename: string) => ({ name: SAVE, args: { filename, content: "new" } });

  test("what is no name of a file is refused before anybody is asked or anything is sent", async () => {
    const names = [
      ...[
        "../secret.md",
        "/etc/passwd",
        "reports/../../outside/secret.md",
        "out/new.md",
        "reports//a.md",
        "a\u0000.md",
        "A.MD",
      ],
      ...[
        "/dev/zero",
        "/proc/self/root/etc/passwd",
        "/dev/fd/0",
        "file:///etc/passwd.md",
        "~",
        "~root.md",
        ".",
        "..",
        "",
      ],
      ...[
        "C:\\p\\README.md:x",
        "README.md:x",
        "CON",
        "a.md. ",
        "\\\\?\\C:\\x.md",
        "photo\u202edm.exe",
        "a.md\n",
        "\u0430.md",
      ],
    ];
    const agent = await d.start(d.server(), [each(names, read), each(names, save), { say: "Done." }]);
    const turn = await agent.ask("go");
    expect(turn.report.status).toBe("done");
    expect(turn.report.operations.map((one) => `${one.status} ${one.reason}`)).toEqual(
      [...names, ...names].map(() => "rejected invalid_arguments"),
    );
    expect(b.log("accepted")).toEqual([]);
    expect(d.reports()).toEqual({});
    untouched();
  });

  test("under a name that is one, a link, a second name, a pipe, a device or a folder is not read, and nothing hangs", async () => {
    const names = stand("sources");
    const agent = await d.start(d.server(), [each(names, read), { say: "Done." }]);
    const turn = await agent.ask("go");
    expect(turn.report.operations.map((one) => `${one.callId} ${one.status}`)).toEqual(
      names.map((name) => `${name} rejected`),
    );
    expect(b.log("finished").map(({ tool }) => tool)).toEqual(names.map(() => "read_document"));
    const texts = turn.messages.map((message) => message.text).join("\n");
    expect(texts).not.toContain(SECRET);
    expect(texts).not.toContain("DOCUMENTS_SECRET");
    untouched();
  });

  test("a report is not written through a link, nor over anything that stands there, also after a yes", async () => {
    const names = stand("reports");
    const agent = await d.start(d.server(), [each(names, save), { say: "Done." }]);
    const turn = await agent.resume(answer(await agent.ask("go")));
    expect(turn.report.operations.map((one) => `${one.callId} ${one.status} ${one.by}`)).toEqual(
      names.map((name) => `${name} rejected server`),
    );
    expect(b.log("effect")).toEqual([]);
    untouched();
  });

  test("a folder of the workspace that is a link is not opened: nothing can be called, and nothing is made there", async () => {
    rmSync(join(d.root(), "reports"), { recursive: true });
    symlinkSync(outside(), join(d.root(), "reports"));
    const agent = await d.start(d.server(), [each(["new.md"], save), { say: "Done." }]);
    const turn = await agent.ask("go");
    expect(turn.report.operations.map((one) => one.reason)).toEqual(["unknown_tool"]);
    expect(b.log("accepted")).toEqual([]);
    untouched();
  });
});

// Pipes and devices block whoever opens them, or never end; a hard link shows no link to resolve.
describe("files that toolgate itself opens", () => {
  let place: Workspace;
  beforeEach(() => {
    place = new Workspace();
    place.configure([{ say: "Hello." }], { store: { kind: "sqlite", path: "store" } });
  });
  afterEach(() => place.end());

  /** Something odd under a name in the workspace. */
  const odd = {
    pipe: (path: string) => execFileSync("mkfifo", ["-m", "600", path]),
    "device without end": (path: string) => symlinkSync("/dev/zero", path),
    folder: (path: string) => mkdirSync(path),
    "link to itself": (path: string) => symlinkSync(path, path),
    "link to nothing": (path: string) => symlinkSync(join(place.folder, "elsewhere"), path),
  };
  const kinds = Object.keys(odd) as (keyof typeof odd)[];

  function make(kind: keyof typeof odd, name: string): void {
    mkdirSync(join(place.folder, "store"), { recursive: true, mode: 0o700 });
    const path = join(place.folder, name);
    rmSync(path, { force: true });
    odd[kind](path);
  }

  /** Far above what it takes to say no, far below what a device of zeros takes to fill the memory. */
  const PATIENCE_MS = 15_000;

  /** Runs the command; it is ended, and that is said, when it does not end by itself. */
  async function run(...args: string[]): Promise<Ended | "it hung"> {
    const { child, ended } = place.spawn(process.execPath, [commandFile(), ...args]);
    let hung = false;
    const patience = setTimeout(() => {
      hung = true;
      child.kill("SIGKILL");
    }, PATIENCE_MS);
    const how = await ended;
    clearTimeout(patience);
    return hung ? "it hung" : how;
  }

  /** One line that names the file and says what is wrong with it, and one that says what to do. */
  function expectRefusal(how: Ended | "it hung", name: string, what: RegExp): void {
    expect(how).toMatchObject({ code: 1, signal: null });
    const { stderr } = how as Ended;
    const [line = "", hint = "", ...more] = stderr.replace(/^thread: t\n/, "").split("\n");
    expect([line, more]).toEqual([expect.stringContaining(join(place.folder, name)), [""]]);
    expect(line).toMatch(/^toolgate: /);
    expect(line).toMatch(what);
    expect(hint).toMatch(/^ {2}\S/);
    expect(existsSync(join(place.folder, "elsewhere"))).toBe(false);
  }

  test.each(["pipe", "device without end", "link to itself"] as const)("a configuration that is a %s", async (kind) => {
    make(kind, "odd.json");
    const how = await run("threads", "--config", join(place.folder, "odd.json"));
    expectRefusal(
      how,
      "odd.json",
      kind === "link to itself" ? /: the system says ELOOP$/ : /: it is not a regular file$/,
    );
  });

  test.each(["/dev/stdin", "/proc/self/environ"])("a configuration in `%s`", async (path) => {
    const how = await run("check", "--config", path); // its stdin stays open
    const stdout = expect.stringContaining(`cannot read \`${path}\`: it is not `);
    expect(how).toMatchObject({ code: 1, stderr: "", stdout });
  });

  test.each(["pipe", "device without end", "link to itself"] as const)("a script that is a %s", async (kind) => {
    make(kind, "odd.json");
    const how = await run("run", "go", "--thread", "t", "--model", "scripted:odd.json");
    expectRefusal(how, "odd.json", kind === "link to itself" ? /cannot be opened/ : /it is not a regular file$/);
  });

  test.each(kinds)("a kept secret that is a %s", async (kind) => {
    make(kind, "store/secret");
    expectRefusal(await run("run", "go", "--thread", "t"), "store/secret", /the store's secret `.*` /);
    expect(readdirSync(join(place.folder, "store"))).toEqual(["secret"]);
  });

  test.each(["pipe", "device without end", "folder"] as const)("a database that is a %s", async (kind) => {
    make(kind, "store/toolgate.sqlite");
    const how = await run("threads");
    expectRefusal(how, "store/toolgate.sqlite", /the store (at )?`.*` (cannot be opened|failed): /);
  });

  test.each(["pipe", "link to itself", "link to nothing"] as const)("a store's folder that is a %s", async (kind) => {
    make(kind, "odd");
    place.configure([], { store: { kind: "sqlite", path: "odd" } });
    expectRefusal(
      await run("threads"),
      "odd/",
      /the store's secret `.*` cannot be read or made: (ENOTDIR|ELOOP|ENOENT)/,
    );
  });
});
