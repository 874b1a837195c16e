// What reporting needs of its host.

import type { Config } from "../contracts/index.js";
import type { GatePorts } from "../gate/ports.js";
import type { Ledger } from "../ledger/port.js";

export interface ReportPorts extends Omit<GatePorts, "config" | "ledger"> {
  readonly config: GatePorts["config"] & Pick<Config, "scope">;
  readonly ledger: Ledger;
}
