// Stores: a fresh one for each cell.

import { join } from "node:path";

export const STORES = ["memory", "sqlite", "postgres"] as const;
export type Store = (typeof STORES)[number];

/** A Postgres server that makes databases. */
export interface Databases {
  freshDatabase(): Promise<string>;
}

/** The `store` of a configuration. */
export async function openStore(
  store: Store,
  folder: string,
  databases: () => Promise<Databases>,
): Promise<Readonly<Record<string, string>>> {
  switch (store) {
    case "memory":
      return { kind: "memory" };
    case "sqlite":
      return { kind: "sqlite", path: join(folder, "store") };
    case "postgres":
      return { kind: "postgres", url: await (await databases()).freshDatabase() };
  }
}
