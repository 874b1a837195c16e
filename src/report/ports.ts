// What reporting needs of its host.

import type { GatePorts } from "../gate/ports.js";
import type { Ledger } from "../ledger/port.js";

export interface ReportPorts extends Omit<GatePorts, "ledger"> {
  readonly ledger: Ledger;
}
