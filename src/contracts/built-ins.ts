// Built-ins: the two tools of toolgate itself. They live beside the host's own tools, under the server name `local`.

import { LOCAL } from "./snapshot.js";

/** Connects a server that waits to be connected. */
export const CONNECT_SERVER = "connect_server";
/** Reads on in a stored result. */
export const READ_RESULT = "read_result";
export const BUILT_INS = [CONNECT_SERVER, READ_RESULT] as const;

/** Whether a call, a rule's target or an entry is of a built-in. Null stands for a name that no tool has. */
export function isBuiltIn(operation: { readonly server: string | null; readonly tool: string | null }): boolean {
  return operation.server === LOCAL && (BUILT_INS as readonly (string | null)[]).includes(operation.tool);
}
