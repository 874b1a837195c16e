// Print: what `console.log` and `JSON.stringify` show of an agent. Its configuration and its ports hold secrets (G11).

import { inspect } from "node:util";
import type { Toolgate } from "./options.js";

/** The same object; printed, it shows the names of its servers and nothing else. */
export function withoutSecretsInPrint(toolgate: Toolgate): Toolgate {
  const shown = () => ({ toolgate: { servers: Object.keys(toolgate.config.mcpServers) } });
  const hidden = (value: unknown) => ({ value, enumerable: false });
  return Object.defineProperties(toolgate, { [inspect.custom]: hidden(shown), toJSON: hidden(shown) });
}
