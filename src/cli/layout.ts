// Reports as text for people. Hidden characters in what a server or a model said are made visible, and it stays on its own
// lines.

import { type ApprovalItem, escapeHidden, oneLine, type RunReport, type UnknownItem } from "../contracts/index.js";
import { fullJson } from "./ask.js";
import type { Style } from "./style.js";

export interface ShowOptions {
  readonly style: Style;
  /** A command as the user must type it. */
  readonly command: (...args: readonly string[]) => string;
  /** Breaks lines where they are shown at a terminal. */
  readonly fitted?: (text: string) => string;
}

/** A turn: the answer, then what waits for a person. */
export function showReport(report: RunReport, options: ShowOptions): string {
  const { answer, approvals, unknowns } = report;
  return blocks([
    answer === "" ? "" : escapeHidden(answer),
    approvals.length === 0 ? "" : showApprovals(approvals, options),
    unknowns.length === 0 ? "" : showUnknowns(unknowns, options),
  ]);
}

export function showApprovals(items: readonly (ApprovalItem & { threadId?: string })[], options: ShowOptions): string {
  if (items.length === 0) return "Nothing waits for approval.";
  return blocks([
    options.style.bold(`Waiting for approval: ${items.length}`),
    ...items.map((item) =>
      fittedLines(options, [
        options.style.bold(item.approvalId),
        ...callLines(item),
        ...(item.destination === null ? [] : [`  where it goes: ${oneLine(item.destination, 1_000)}`]),
        `  why: ${oneLine(item.why, 2_000)}`,
        `  expires: ${item.expiresAt}`,
        ...argumentLines(item),
      ]),
    ),
    lines([
      "Answer with one of:",
      `  ${options.command("approve", "ID")}`,
      `  ${options.command("reject", "ID", "--reason", "TEXT")}`,
      `  ${options.command("edit", "ID", "--args", "JSON")}`,
    ]),
  ]);
}

export function showUnknowns(items: readonly (UnknownItem & { threadId?: string })[], options: ShowOptions): string {
  if (items.length === 0) return "No outcome is unknown.";
  return blocks([
    options.style.bold(`Writes that may or may not have happened: ${items.length}`),
    ...items.map((item) =>
      fittedLines(options, [
        options.style.bold(item.operationId),
        ...callLines(item),
        `  sent: ${item.sentAt ?? "not known"}`,
        ...(item.evidence === null
          ? []
          : [`  seen: ${oneLine([item.evidence.how, item.evidence.detail ?? ""].join(" "))}`]),
        ...(item.evidence?.readBack === undefined
          ? []
          : [`  read back by ${oneLine(item.evidence.readBack.tool)}: ${oneLine(item.evidence.readBack.detail)}`]),
        ...argumentLines(item),
      ]),
    ),
    lines([
      "No further write of the thread runs until this is settled. Look there, then say what you found:",
      `  ${options.command("resolve", "OPERATION_ID", "--happened")}`,
      `  ${options.command("resolve", "OPERATION_ID", "--did-not-happen")}`,
      `  ${options.command("resolve", "OPERATION_ID", "--leave")}`,
    ]),
  ]);
}

type Call = Pick<ApprovalItem, "alias" | "server" | "tool" | "arguments"> & { threadId?: string; effect?: string };

function callLines({ alias, server, tool, effect, threadId }: Call): string[] {
  const route = server === null || tool === null ? "no such tool" : `tool ${oneLine(tool)} of ${oneLine(server)}`;
  return [
    `  ${oneLine(alias)}${effect === undefined ? "" : ` (${effect})`}: ${route}`,
    ...(threadId === undefined ? [] : [`  thread: ${oneLine(threadId)}`]),
  ];
}

function argumentLines({ arguments: args }: Call): string[] {
  return fullJson(args)
    .split("\n")
    .map((line) => `  ${line}`);
}

/** A table with two spaces between columns. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  return lines(
    rows.map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    ),
  );
}

/** Lines that may hold others' words. */
function fittedLines({ fitted = (text) => text }: ShowOptions, parts: readonly string[]): string {
  return fitted(lines(parts));
}

export const lines = (parts: readonly string[]): string => parts.join("\n");
export const blocks = (parts: readonly string[]): string => parts.filter((part) => part !== "").join("\n\n");
