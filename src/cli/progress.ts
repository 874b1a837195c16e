// Shows on stderr what a run is doing, one line for each step.
//
//   progress-1. At a terminal every step has a line. Elsewhere only a problem with a server has one.
//   progress-2. Names and problems come from servers and models. Each of them stays one visible line.

import { isObject, oneLine } from "../contracts/index.js";
import type { Style } from "./style.js";

export interface ProgressOptions {
  /** Whether every step is shown, or only problems. */
  readonly steps: boolean;
  readonly style: Style;
  readonly write: (line: string) => void;
}

/** Takes the custom events of a run's stream. **Contract:** never throws, whatever the event. */
export type Progress = (event: unknown) => void;

export function createProgress({ steps, style, write }: ProgressOptions): Progress {
  const shown = new Set<string>();
  return (event) => {
    const line = describe(event);
    if (line === undefined || (!line.problem && !steps)) return; // progress-1
    if (line.problem && shown.has(line.text)) return; // the same problem comes again each time the server is tried
    shown.add(line.text);
    write(line.problem ? style.warn(line.text) : style.dim(line.text));
  };
}

interface Line {
  readonly text: string;
  readonly problem?: boolean;
}

function describe(event: unknown): Line | undefined {
  const fields = isObject(event) ? event : {};
  const field = (key: string) => oneLine(String(fields[key] ?? ""), 300); // progress-2
  switch (fields["type"]) {
    case "toolgate.server":
      return serverLine(field("server"), field("kind"), field("detail"));
    case "toolgate.capabilities":
      return { text: "· asking the model" };
    case "toolgate.catalog_refused":
      return {
        text: `the servers' tools are refused: ${field("problem")}; the last good catalog stays`,
        problem: true,
      };
    case "toolgate.call":
      return fields["phase"] === "sent"
        ? { text: `→ ${field("alias")} (${field("effect")})` }
        : { text: `← ${field("alias")}: ${field("status")}${field("message") && `: ${field("message")}`}` };
    case "toolgate.read_back":
      return { text: `· asking ${field("tool")} whether ${field("alias")} happened` };
    default:
      return undefined;
  }
}

function serverLine(server: string, kind: string, detail: string): Line | undefined {
  switch (kind) {
    case "connecting":
      return { text: `· ${server}: starting` };
    case "connected":
      return { text: `· ${server}: connected` };
    case "failed":
    case "closed":
      return {
        text: `server \`${server}\` is not available: ${detail || kind}; the run goes on without it`,
        problem: true,
      };
    default:
      return undefined;
  }
}
