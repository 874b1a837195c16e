// The two tools of the host itself. They are reads, free of budget, and allowed unless denied by name.

import type { Operation } from "./operation.js";
import { LOCAL } from "./snapshot.js";

export const CONNECT_SERVER = "connect_server";
export const READ_RESULT = "read_result";
export const BUILT_INS = [CONNECT_SERVER, READ_RESULT] as const;

/** In the ledger like any call, but not counted. */
export function isBuiltIn(operation: Pick<Operation, "server" | "tool">): boolean {
  return operation.server === LOCAL && (BUILT_INS as readonly string[]).includes(operation.tool ?? "");
}
