// Loading a configuration file.

import { readConfig } from "../adapters/config/load.js";
import type { Config } from "../contracts/index.js";

/**
 * Reads a configuration file. `env` is what its variables are filled in from. @default process.env
 * Throws `config_unreadable`, `config_invalid` and `config_variable`.
 */
export async function loadConfig(path: string, env: NodeJS.ProcessEnv = process.env): Promise<Config> {
  return (await readConfig(path, env)).config;
}
