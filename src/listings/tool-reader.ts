// Tool reader: makes the tools of a server's list ready, a few at a time.
//
// Between two slices the event loop runs, so that a catalog of thousands of tools does not stop the other threads of the
// process.
//
//   reader-1. The host's secrets are taken out of a definition before anything is made of it. Digests cover what is left, so a
//             secret that is changed is no drift. A tool whose names or rules hold a secret cannot be reworded and is withheld.
//   reader-2. A tool that comes again, to the byte, keeps what was made of it.
//   reader-3. A tool that the host does not offer is not assessed: nothing that it says of itself matters, and it has no digest
//             with which a call could be sent.

import {
  type AssembleOptions,
  type AssessedTool,
  assessTool,
  patternsOf,
  type ServerRules,
  toolDigest,
} from "../catalog/index.js";
import { type Digest, oneLine, sha256, type WithheldTool } from "../contracts/index.js";
import { holdsSecret, mayHoldSecret, rewordDefinition, toBody } from "../observation/index.js";
import { CHARS_A_SLICE, createSlices, TOOLS_A_SLICE } from "./slices.js";

export interface ToolReaderDeps extends Pick<AssembleOptions, "limits" | "injected"> {
  /** Removes secrets from what a definition says. */
  readonly redact: (text: string) => string;
  /** The same for its names and rules, which mean something else in another case. @default `redact` */
  readonly redactNames?: ((text: string) => string) | undefined;
  /** Why the host does not offer a tool; undefined for one that it offers. **Contract:** pure, does not throw. */
  readonly hidden: (server: string, tool: string) => string | undefined;
  /** Resolves after the event loop has run. **Contract:** does not reject. */
  readonly pause: () => Promise<void>;
}

/** What was made of one tool of a list. */
export interface ReadTool {
  /** Digest of its JSON text as it came; undefined where it is nested too deeply to be written out. */
  readonly raw: Digest | undefined;
  /** Digest of it without secrets. */
  readonly content: Digest;
  readonly name: string | undefined;
  readonly tool:
    | { readonly digest: Digest; readonly assessed: AssessedTool }
    /** It holds a secret where nothing can be reworded. */
    | { readonly withheld: WithheldTool }
    /** The host does not offer it. */
    | { readonly hidden: WithheldTool };
}

interface Server {
  readonly name: string;
  readonly protocol: string;
}

/** Returns a function that makes all tools of a server's list ready. It never rejects. */
export function createToolReader(
  deps: ToolReaderDeps,
): (server: Server, tools: readonly unknown[]) => Promise<ReadTool[]> {
  /** By server: its protocol, and what was made of each tool by the digest of its text. (reader-2) */
  const kept = new Map<string, { readonly protocol: string; readonly tools: Map<Digest, ReadTool> }>();
  const slices = createSlices(deps.pause);
  const patterns = patternsOf(deps.limits);
  // With patterns that are no regular expressions no catalog is assembled, whatever its tools are.
  const usable = typeof patterns === "string" ? { tool: undefined, server: undefined } : patterns;
  const rules: ServerRules = { limits: deps.limits, injected: deps.injected, patterns: usable };

  return async (server, tools) => {
    const earlier = kept.get(server.name);
    // Two listings of one server at the same time share what each of them makes.
    const known = earlier?.protocol === server.protocol ? earlier : { protocol: server.protocol, tools: new Map() };
    kept.set(server.name, known);
    const read: ReadTool[] = [];
    if (tools.length > TOOLS_A_SLICE) await deps.pause(); // the page was parsed in this run of the event loop
    for (const raw of tools) {
      // Nothing is awaited between the answer that there is room and the tool: another listing could take it.
      for (let full = slices.full(); full !== undefined; full = slices.full()) await full;
      const text = jsonOf(raw);
      const sum = text === undefined ? undefined : sha256(text);
      const before = sum === undefined ? undefined : known.tools.get(sum);
      const one = before ?? readTool(server, raw, { text, sum }, rules, deps);
      if (sum !== undefined) known.tools.set(sum, one);
      read.push(one);
      slices.take(text?.length ?? CHARS_A_SLICE, before !== undefined);
    }
    forgetOthers(known.tools, read);
    return read;
  };
}

/** Takes the secrets out of a tool and assesses what is left. (reader-1) */
function readTool(
  server: Server,
  raw: unknown,
  { text, sum }: { readonly text: string | undefined; readonly sum: Digest | undefined },
  rules: ServerRules,
  { redact, redactNames = redact, hidden }: Pick<ToolReaderDeps, "hidden" | "redact" | "redactNames">,
): ReadTool {
  const clean = !mayHoldSecret(raw, redact);
  const tool = clean ? raw : rewordDefinition(raw, redact);
  const name = nameOf(tool);
  // `toBody` never throws: a server may list what is nested too deeply to be written out.
  const content = clean && sum !== undefined ? sum : sha256(toBody(tool));
  if (!clean && holdsSecret(tool, redactNames)) {
    const shown = name === undefined ? "" : oneLine(redact(name), 128);
    const reason = "its definition holds a value that the host keeps secret";
    return { raw: sum, content, name, tool: { withheld: { server: server.name, tool: shown, reason } } };
  }
  const hiding = name === undefined ? undefined : hidden(server.name, name);
  if (name !== undefined && hiding !== undefined) {
    const row = { server: server.name, tool: oneLine(name, 128), reason: hiding };
    return { raw: sum, content, name, tool: { hidden: row } }; // reader-3
  }
  const assessed = assessTool(server, tool, rules, clean ? text : undefined);
  const digest = assessed.ok ? assessed.entry.digest : toolDigest(tool);
  return { raw: sum, content, name, tool: { digest, assessed } };
}

/** What is not listed any more is forgotten. */
function forgetOthers(known: Map<Digest, ReadTool>, listed: readonly ReadTool[]): void {
  const kept = new Set(listed);
  for (const [sum, one] of known) if (!kept.has(one)) known.delete(sum);
}

function nameOf(tool: unknown): string | undefined {
  const name = (tool as { name?: unknown } | null)?.name;
  return typeof name === "string" ? name : undefined;
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
