// Takes the servers out of a file's value that it turns off, before anything of them is read.

import { type Finding, isObject } from "../../contracts/index.js";
import { pathText } from "./issues.js";
import { switchOf } from "./offer-keys.js";

/** The value without the servers that a key turns off (config-3), their names, and a warning where another key says `on`. */
export function withoutServersThatAreOff(value: Record<string, unknown>) {
  const kept = { ...value };
  const disabled: string[] = [];
  const findings: Finding[] = [];
  for (const key of ["mcpServers", "servers"]) {
    const servers = kept[key];
    if (!isObject(servers)) continue;
    const left: [string, unknown][] = [];
    for (const [name, server] of Object.entries(servers)) {
      const said = switchOf(server);
      if (said !== "off" && said !== "both") left.push([name, server]);
      else disabled.push(name);
      if (said === "both") findings.push(contradiction(pathText([key, name])));
    }
    kept[key] = Object.fromEntries(left);
  }
  return { kept, disabled, findings };
}

function contradiction(path: string): Finding {
  const message = `\`${path}\` is turned on by one key and off by another: it is left out`;
  return { level: "warning", code: "server_disabled", message };
}
