// Attack: one way to get past one promise through one door, drawn anew from a seed each time.
//
// Every attack can also be made where its wall is missing (`wall: false`). There it must get through: a check that finds nothing
// at an open door would find nothing at a closed one either.

import type { Random } from "../simulate/random.js";
import type { World } from "./world.js";

/** What is attacked. */
export const KINDS = ["messages", "identity", "scope", "sealing", "evidence", "text", "secrets", "rules"] as const;
export type Kind = (typeof KINDS)[number];

/** Where it comes in: a run of the graph, the records beside it, the command, a server over stdio or HTTP, the store's file. */
export const DOORS = ["graph", "records", "command", "stdio", "http", "store"] as const;
export type Door = (typeof DOORS)[number];

export interface Attack {
  readonly kind: Kind;
  readonly door: Door;
  /** Says what got through, a line each; nothing where the promise held. */
  strike(random: Random, world: World, wall: boolean): Promise<readonly string[]>;
}

export const nameOf = ({ kind, door }: Pick<Attack, "kind" | "door">): string => `${kind} × ${door}`;
