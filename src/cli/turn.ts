// Runs a thread until it ends, asks or fails, and reports it. Whatever went wrong, the thread can go on.
//
// Every step is on disk before the next one begins (durability "sync"). A failure is part of the report, and an unknown
// outcome outranks it (exit-1).

import { HumanMessage } from "@langchain/core/messages";
import type { ApprovalPayload } from "../approval/index.js";
import { type RunReport, ToolgateError } from "../contracts/index.js";
import type { GraphState } from "../graph/state.js";
import { reportTurn } from "../report/report.js";
import { type Failure, runFailure, Stopped } from "./error-report.js";
import { isInteractive } from "./io.js";
import type { Opened } from "./open-agent.js";
import { createProgress, type Progress } from "./progress.js";
import { redacted } from "./redacted.js";
import { styleOf } from "./style.js";

export interface Turn {
  readonly report: RunReport;
  /** The open questions of the thread, as they are shown to a person. */
  readonly asks?: ApprovalPayload;
  /** What was thrown, for `--verbose`. */
  readonly cause?: unknown;
}

/** Runs a thread on. With a question it begins a new user turn. Throws `Stopped`. */
export async function takeTurn(opened: Opened, threadId: string, question?: string): Promise<Turn> {
  const { toolgate, context } = opened;
  const { stop } = context.io;
  const config = { configurable: { thread_id: threadId } };
  const input =
    question === undefined ? null : { messages: [new HumanMessage({ content: question, id: context.io.newId() })] };
  let thrown: { readonly cause: unknown } | undefined;
  try {
    const showProgress = progressOf(opened);
    const stream = await toolgate.graph.stream(input, {
      ...config,
      durability: "sync",
      streamMode: ["updates", "custom"],
      signal: stop,
    });
    for await (const [mode, chunk] of stream as AsyncIterable<[string, unknown]>)
      if (mode === "custom") showProgress(chunk);
  } catch (cause) {
    if (stop.aborted) throw new Stopped(threadId);
    thrown = { cause: redacted(cause, toolgate.host.redact) };
  }
  if (stop.aborted) throw new Stopped(threadId);
  return standingOf(opened, threadId, thrown);
}

/** The report of a thread without running it. */
export async function standingOf(
  opened: Opened,
  threadId: string,
  thrown?: { readonly cause: unknown },
): Promise<Turn> {
  const { toolgate, goOn } = opened;
  const state = await toolgate.graph.getState({ configurable: { thread_id: threadId } });
  const report = await reportTurn(toolgate.host, threadId, state.values as Partial<GraphState>);
  const asks = state.tasks
    .flatMap((task) => task.interrupts.map((interrupt) => interrupt.value as { kind?: unknown }))
    .find((value): value is ApprovalPayload => value?.kind === "approval");
  const failure = thrown && runFailure(thrown.cause, state.next, goOn(threadId));
  return {
    report: withFailure(report, failure),
    ...(asks === undefined ? {} : { asks }),
    ...(thrown === undefined ? {} : thrown),
  };
}

/** The report with a failure in it. An unknown outcome stays the status. */
export function withFailure(report: RunReport, error: Failure | undefined): RunReport {
  if (error === undefined) return report;
  return { ...report, status: report.status === "result_unknown" ? "result_unknown" : "error", error };
}

/** Throws `not_found` for a thread that has no checkpoint. */
export async function requireThread({ toolgate }: Opened, threadId: string): Promise<void> {
  const state = await toolgate.graph.getState({ configurable: { thread_id: threadId } });
  if (state.config.configurable?.["checkpoint_id"] !== undefined) return;
  throw new ToolgateError(
    "not_found",
    `there is no thread \`${threadId}\``,
    "nothing of it was stored: run `toolgate threads` to list those that are, or give the question (again) to begin it",
  );
}

function progressOf({ context }: Opened): Progress {
  return createProgress({
    steps: isInteractive(context),
    style: styleOf(context.io.stderr, context.io.env),
    write: context.note,
  });
}
