// What the gate needs of its host: to store answers, and to judge.

import type { SchemaChecker } from "../catalog/index.js";
import type { Config, Destination, Digest, News, ToolEntry, ToolSnapshot } from "../contracts/index.js";
import type { Ledger } from "../ledger/port.js";
import type { Policy, Settings } from "../policy/index.js";
import type { HostDecision } from "./host-decision.js";

export interface AnswerPorts {
  readonly config: Pick<Config, "approvals" | "haltScope" | "limits">;
  readonly ledger: Pick<Ledger, "answer" | "ask" | "look" | "openRequests">;
  readonly catalog: { snapshot(id: Digest): Promise<ToolSnapshot | undefined> };
  readonly checker: Pick<SchemaChecker, "check">;
  readonly policy: Policy;
  readonly settings: Settings;
  /** What the host's own `decide` says of calls; undefined where it has none. */
  readonly hostDecision?: HostDecision | undefined;
  /** Where the calls to a server go and who they are made as, as configured now; undefined for a server that is not. */
  readonly destinationOf: (server: string) => Destination | undefined;
  /** Key of the seal on verdicts. */
  readonly secret: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** A fresh random id of 128 bits. */
  readonly newId: () => string;
}

export interface GatePorts extends AnswerPorts {
  /** What is new of a tool of a server, beside what is accepted of it in a scope; undefined where nothing is. */
  readonly accepted: { newsOf(scope: string, entry: ToolEntry): Promise<News | undefined> };
}
