// Near: finds the names that are close to a mistyped one, for messages that help.

/** The known names closest to `name`, nearest first: at most `count`, none further than a third of the name away. */
export function nearest(name: string, known: readonly string[], count = 3): string[] {
  const most = Math.max(2, Math.floor(name.length / 3));
  return known
    .map((candidate) => ({ candidate, distance: distanceOf(name, candidate, most) }))
    .filter(({ candidate, distance }) => distance <= most || sharesTail(name, candidate))
    .sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, count)
    .map(({ candidate }) => candidate);
}

/** Whether one name ends with the other: somebody who writes `search_docs` may mean `mcp__docs__search_docs`. */
function sharesTail(name: string, candidate: string): boolean {
  return name.length >= 4 && candidate.endsWith(name);
}

/** The Levenshtein distance. A distance above `most` may be returned as `most + 1`. */
function distanceOf(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (previous[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(change, (previous[j] as number) + 1, (row[j - 1] as number) + 1));
    }
    previous = row;
  }
  return previous[b.length] as number;
}
