// Loaded: the parts that one SELECT brought, as tables in memory.

import { gunzipSync } from "node:zlib";
import type { OperationRow, Owner, Proposal, ToolSnapshot } from "../../contracts/index.js";
import type { Moment } from "../../ledger/clock.js";
import type { ModelRequestRecord } from "../../ledger/port.js";
import type { Question, ReadSet, Tables, TurnCounters } from "../../ledger/tables.js";
import { memoryTables } from "../memory/tables.js";
import type { Header } from "./image.js";
import type { Part } from "./load.js";

export interface Loaded {
  readonly memory: Tables;
  /** By thread id, with one for each thread that is named and not stored yet. */
  readonly headers: Map<string, Header>;
  readonly clock: Moment | undefined;
  /** Epoch milliseconds of the database when it was asked. */
  readonly startedAt: number;
}

export function loaded(readSet: ReadSet, parts: readonly Part[]): Loaded {
  const memory = memoryTables();
  const headers = new Map<string, Header>();
  let clock: Moment | undefined;
  let startedAt = 0;
  const listed: { threadId: string; lastAt: number }[] = [];
  const known = new Set<string>();
  const requests: ModelRequestRecord[] = [];

  const take = ({ kind, body, extra, data }: Part): void => {
    switch (kind) {
      case "now":
        startedAt = data.now as number;
        if (data.at !== null) clock = { at: data.at as number, elapsed: data.elapsed as number };
        return;
      case "thread":
        headers.set(JSON.parse(body) as string, headerOf(extra, data));
        return;
      case "row": {
        const row = rowOf(body, extra, data);
        memory.putRow(row);
        memory.setHaltScope(row.operation.id, data.halt as "thread" | "server");
        return;
      }
      case "question":
        memory.addQuestion(JSON.parse(body) as Question);
        return;
      case "turn":
        if (readSet.turn) {
          memory.addToTurn(readSet.turn.threadId, readSet.turn.turnId, data as Partial<TurnCounters>);
        }
        return;
      case "proposal":
        memory.addProposal(JSON.parse(body) as Proposal);
        return;
      case "known":
        known.add(readSet.request as string);
        return;
      case "request":
        requests.push(requestOf(body, extra, data));
        return;
      case "snapshot":
        memory.addSnapshot(JSON.parse(gunzipSync(Buffer.from(body, "base64")).toString("utf8")) as ToolSnapshot);
        return;
      case "listed":
        listed.push({ threadId: JSON.parse(body) as string, lastAt: data.lastAt as number });
    }
  };
  for (const part of inOrder(parts)) take(part);
  for (const threadId of readSet.threads ?? []) if (!headers.has(threadId)) headers.set(threadId, newHeader());
  return {
    memory: {
      ...memory,
      addModelRequest: (record) => {
        if (known.has(record.requestId)) return false;
        known.add(record.requestId);
        return memory.addModelRequest(record);
      },
      modelRequests: () => requests,
      threads: () => listed.reverse().sort((a, b) => b.lastAt - a.lastAt),
    },
    headers,
    clock,
    startedAt,
  };
}

/** As they were stored, each once: one part may be found in more than one way. */
function inOrder(parts: readonly Part[]): Part[] {
  const once = new Map([...parts].sort((a, b) => a.n - b.n).map((part) => [`${part.kind} ${part.n}`, part]));
  return [...once.values()];
}

function newHeader(): Header {
  return { version: 0, lastAt: 0, lastSeq: 0, holder: undefined, recent: [] };
}

function headerOf(owner: string | null, data: Part["data"]): Header {
  const { version, lastAt, lastSeq, recent, until } = data as unknown as Header & { until: number };
  const holder = owner === null ? undefined : { owner: JSON.parse(owner) as Owner, leaseUntil: until };
  return { version, lastAt, lastSeq, recent, holder };
}

function rowOf(body: string, given: string | null, data: Part["data"]): OperationRow {
  const row = JSON.parse(body) as OperationRow;
  const args = JSON.parse(given as string) as OperationRow["operation"]["arguments"];
  const lease = data.lease === null ? {} : { leaseUntil: data.lease as number };
  return { ...row, ...lease, operation: { ...row.operation, arguments: args } } as OperationRow;
}

function requestOf(body: string, proposal: string | null, data: Part["data"]): ModelRequestRecord {
  return {
    ...(JSON.parse(body) as Omit<ModelRequestRecord, "tools">),
    tools: JSON.parse(data.tools as string) as string[],
    ...(proposal === null ? {} : { proposal: JSON.parse(proposal) as Proposal }),
  };
}
