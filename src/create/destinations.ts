// Destinations: where the calls to each configured server go, and who they are made as.

import { type DestinationTerms, destinationOf, GRANT_START } from "../approval/index.js";
import type { Config, Destination } from "../contracts/index.js";
import { createRedactor } from "../observation/redact.js";

/** Stands for a secret in what is digested. No command, argument, url or header can hold it. */
const CUT = "\0";

/** By a server's name; undefined for a name that the configuration does not have. Each is worked out once. */
export function destinationsOf(config: Config): (server: string) => Destination | undefined {
  const { mcpServers, approvals, folder } = config;
  const secrets = [...config.secrets, ...config.literalSecrets];
  const terms: DestinationTerms = {
    redact: createRedactor(secrets, [GRANT_START]),
    cut: createRedactor(secrets, [], CUT),
    secret: approvals.secret, // a random one, made because this is unset, dies with the process
    folder,
  };
  const known = new Map<string, Destination>();
  return (name) => {
    const server = Object.hasOwn(mcpServers, name) ? mcpServers[name] : undefined;
    if (server === undefined) return undefined;
    const destination = known.get(name) ?? destinationOf(server, terms);
    known.set(name, destination);
    return destination;
  };
}
