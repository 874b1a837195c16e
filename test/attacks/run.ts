// Runs attacks, each with a world of its own, and says what got through.

import { randomOf } from "../simulate/random.js";
import { type Attack, nameOf } from "./attack.js";
import { EVIDENCE } from "./kinds/evidence.js";
import { IDENTITY } from "./kinds/identity.js";
import { MESSAGES } from "./kinds/messages.js";
import { RULES } from "./kinds/rules.js";
import { SCOPE } from "./kinds/scope.js";
import { SEALING } from "./kinds/sealing.js";
import { SECRETS } from "./kinds/secrets.js";
import { TEXT } from "./kinds/text.js";
import { World } from "./world.js";

export const ATTACKS: readonly Attack[] = [
  ...MESSAGES,
  ...IDENTITY,
  ...SCOPE,
  ...SEALING,
  ...EVIDENCE,
  ...TEXT,
  ...SECRETS,
  ...RULES,
];

/** Longest time of one attack, in milliseconds. A host that is held up for longer did not hold. */
const LIMIT_MS = 60_000;

/** One attack from one seed. An attack that cannot be made is a failure of the attack, and throws. */
export async function strike(attack: Attack, seed: number, wall = true): Promise<readonly string[]> {
  const world = new World();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<readonly string[]>((resolve) => {
    timer = setTimeout(() => resolve([`it was not over within ${LIMIT_MS / 1_000} s`]), LIMIT_MS);
  });
  const whole = (async () => {
    try {
      return await attack.strike(randomOf(seed, nameOf(attack)), world, wall);
    } finally {
      await world.end();
    }
  })();
  try {
    return await Promise.race([whole, late]);
  } finally {
    clearTimeout(timer);
  }
}
