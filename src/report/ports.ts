// What reporting needs of its host.

import type { Config } from "../contracts/index.js";
import type { AnswerPorts } from "../gate/ports.js";
import type { Ledger } from "../ledger/port.js";

export interface ReportPorts extends Omit<AnswerPorts, "config" | "ledger"> {
  readonly config: AnswerPorts["config"] & Pick<Config, "scope">;
  readonly ledger: Ledger;
}
