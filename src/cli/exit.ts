// Exit codes: what a script can act on without reading a word.
//
//   C1. 2 is a wrong command line. Otherwise an unknown result (4) beats an error (1), that beats a question that waits
//       (3), and that beats done (0); the report's `status` says the same.
//   C2. 130 and 143: stopped by Ctrl-C or SIGTERM; the thread can go on.

import type { RunStatus } from "../contracts/index.js";

export const EXIT = { done: 0, error: 1, usage: 2, awaiting_approval: 3, result_unknown: 4 } as const;

export function exitCodeOf(status: RunStatus): number {
  return EXIT[status];
}
