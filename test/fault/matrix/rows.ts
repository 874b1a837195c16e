// All rows of the matrix, in order.

import { CLOCK_ROWS } from "./clock-rows.js";
import { DISK_ROWS } from "./disk-rows.js";
import { HOST_ROWS } from "./host-rows.js";
import { KILL_ROWS } from "./kill-rows.js";
import { LATE_ROWS } from "./late-rows.js";
import type { Row } from "./row.js";
import { SERVER_ROWS } from "./server-rows.js";
import { TAMPER_ROWS } from "./tamper-rows.js";

export const ROWS: readonly Row[] = [
  ...KILL_ROWS,
  ...LATE_ROWS,
  ...SERVER_ROWS,
  ...HOST_ROWS,
  ...DISK_ROWS,
  ...CLOCK_ROWS,
  ...TAMPER_ROWS,
].sort((a, b) => a.id.localeCompare(b.id));
