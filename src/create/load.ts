// Loading a configuration file with this process's environment.

import { readConfig } from "../adapters/config/load.js";
import type { Config } from "../contracts/index.js";

/** Reads a configuration file. Throws `config_unreadable`, `config_invalid` and `config_variable`. */
export async function loadConfig(path: string): Promise<Config> {
  return (await readConfig(path, process.env)).config;
}
