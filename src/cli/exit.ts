// Exit codes: a script can act on them without reading the output.
//
//   exit-1. 2 is a wrong command line. Of the other codes the first that applies is used: an unknown result (4), an error (1),
//           a question that waits for a person (3), done (0). The report's `status` says the same.
//   exit-2. 130 and 143: the run was stopped by Ctrl-C or SIGTERM. The thread can go on.

import type { RunStatus } from "../contracts/index.js";

export const EXIT = { done: 0, error: 1, usage: 2, awaiting_approval: 3, result_unknown: 4 } as const;

export function exitCodeOf(status: RunStatus): number {
  return EXIT[status];
}
