// Sharing: one listing of a server for all who need it at the same time.
//
//   listing-2. Threads that need the list of a server at the same time share one request for it, unless the server may list
//              something else since that request.

import type { ServerListing } from "../catalog/index.js";
import type { Servers } from "../contracts/mcp-port.js";

/** A listing that is on its way. `generation` is undefined until the server is connected. */
interface Running {
  generation: number | undefined;
  readonly listed: Promise<ServerListing>;
}

export interface Sharing {
  /** Lists a server, or joins a listing that is on its way and shows what the server would list if it were asked now. (listing-2) */
  list(name: string): Promise<ServerListing>;
  isRunning(name: string): boolean;
}

/** `list` lists a server and tells the server's generation before the list is asked for. It never rejects. */
export function createSharing(
  servers: Pick<Servers, "connection" | "generation">,
  list: (name: string, onGeneration: (generation: number) => void) => Promise<ServerListing>,
): Sharing {
  const running = new Map<string, Running>();

  function isCurrent(name: string, { generation }: Running): boolean {
    if (generation === undefined) return true; // it has not been asked yet
    return servers.connection(name) !== undefined && generation === servers.generation(name);
  }

  return {
    isRunning: (name) => running.has(name),
    list(name) {
      const other = running.get(name);
      if (other !== undefined && isCurrent(name, other)) return other.listed;
      const onGeneration = (generation: number) => {
        mine.generation = generation;
      };
      const listed = list(name, onGeneration).finally(() => {
        if (running.get(name) === mine) running.delete(name);
      });
      const mine: Running = { generation: undefined, listed };
      running.set(name, mine);
      return listed;
    },
  };
}
