// Keys that other hosts' configuration files use. None of them loosens anything here; it becomes a suggestion to the user.

import { aliasOf, type Finding, oneLine } from "../../contracts/index.js";
import type { FileServer } from "./file.js";

/** A `timeout` below this was probably meant in seconds. */
const SHORT_TIMEOUT_MS = 1_000;

/** How many tools a suggestion names. */
const SUGGESTED = 8;

/** Warnings about one server. `path` is its key in the file; `ignored` names keys that its transport does not use. */
export function serverFindings(name: string, path: string, server: FileServer, ignored: readonly string[]): Finding[] {
  const findings = ignored.map((key): Finding => {
    const kind = server.command === undefined ? "reached by `url`" : "started by `command`";
    return warning("ignored_key", `\`${path}.${key}\` is ignored: the server is ${kind}`);
  });
  for (const key of ["autoApprove", "alwaysAllow"] as const) {
    if (server[key] !== undefined) findings.push(suggestion(name, `${path}.${key}`, server[key])); // config-5
  }
  if (server.timeout !== undefined && server.timeout < SHORT_TIMEOUT_MS) {
    const meaning = `is read as ${server.timeout} milliseconds; for ${server.timeout} seconds write ${server.timeout * 1_000}`;
    findings.push(warning("short_timeout", `\`${path}.timeout\` ${meaning}`));
  }
  return findings;
}

function suggestion(name: string, path: string, value: unknown): Finding {
  const tools = Array.isArray(value) ? value.filter((tool): tool is string => typeof tool === "string") : [];
  const all = value === true || tools.includes("*");
  const rules = all ? [`mcp__${name}__*`] : tools.slice(0, SUGGESTED).map((tool) => aliasOf(name, tool));
  const more = !all && tools.length > SUGGESTED ? ` and ${tools.length - SUGGESTED} more` : "";
  const advice =
    rules.length === 0
      ? ""
      : `; to allow them, put ${rules.map((rule) => `"${oneLine(rule, 80)}"`).join(", ")}${more} into \`permissions.allow\``;
  return warning("auto_approve", `\`${path}\` allows nothing here${advice}`);
}

function warning(code: string, message: string): Finding {
  return { level: "warning", code, message };
}
