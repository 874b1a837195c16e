// Workspace: a copy of examples/documents for one scene, with toolgate.documents.json for it: another store, another last
// word of the model and, where a scene wants it, a server with a fault. Rules and bounds stay as they are.

import { randomBytes } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ServerEvent, ServerEventName } from "../../servers/log.js";
import type { Scene, Stage } from "./stage.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

export interface Table {
  readonly thread: string;
  readonly scene: Scene;
  /** Names of the reports that are there. */
  reports(): string[];
  /** Whether the report's bytes are those of `text`, no more and no fewer. */
  holds(report: string, text: string): boolean;
  /** What the server logged in this scene. */
  events(...names: ServerEventName[]): ServerEvent[];
}

export interface Laying {
  /** What the model says in the end. */
  readonly says: string;
  /** How the server breaks (test/servers/programs/documents/faulty.ts). */
  readonly fault?: string;
}

/** Lays out the workspace of the scene `name`. */
export function lay(stage: Stage, name: string, { says, fault }: Laying): Table {
  const workspace = join(stage.folder, name);
  mkdirSync(workspace);
  cpSync(join(root, "examples/documents/sources"), join(workspace, "sources"), { recursive: true });
  const script = join(stage.folder, `${name}-script.json`);
  writeFileSync(script, JSON.stringify([...json("examples/documents/script.json").slice(0, -1), { say: says }]));
  const file = join(stage.folder, `${name}.json`);
  writeFileSync(file, JSON.stringify(changed(script, fault)));
  const before = stage.events().length;
  const reports = join(workspace, "reports");
  return {
    thread: name,
    scene: {
      config: file,
      env: {
        DOCUMENTS_ROOT: workspace,
        DOCUMENTS_SECRET: randomBytes(32).toString("base64url"),
        SERVER_LOG: stage.log,
      },
    },
    reports: () => (existsSync(reports) ? readdirSync(reports) : []),
    holds: (report, text) =>
      existsSync(join(reports, report)) && readFileSync(join(reports, report)).equals(Buffer.from(text)),
    events: (...names) =>
      stage
        .events()
        .slice(before)
        .filter(({ event }) => names.includes(event)),
  };
}

/** The configuration with what a scene needs otherwise. */
function changed(script: string, fault: string | undefined): object {
  const config = json("toolgate.documents.json");
  const { documents } = config.mcpServers;
  const faulty = {
    args: documents.args.map((arg: string) =>
      arg.replace("servers/documents/server.ts", "test/servers/programs/documents/faulty.ts"),
    ),
    env: { ...documents.env, DOCUMENTS_FAULT: fault },
  };
  return {
    ...config,
    model: `scripted:${script}`,
    mcpServers: { documents: { ...documents, ...(fault === undefined ? {} : faulty), cwd: root } },
    store: { ...config.store, path: "store" },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: files of this checkout, read as they are
function json(path: string): any {
  return JSON.parse(readFileSync(join(root, path), "utf8"));
}
