// Headers: checks `x-mcp-header` declarations (protocol 2026-07-28), by which a parameter is repeated as an HTTP header.
//
// The specification requires a client to leave out a tool whose declarations break its rules. SDKs do that in their own
// listing. toolgate reads the raw pages, so it has to check the rules itself.

import { isObject, type JsonObject, oneLine } from "../contracts/index.js";
import { own, pathOf, placesOf } from "./walk.js";

const KEY = "x-mcp-header";
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Says which declaration breaks the rules; undefined when none does. */
export function headerProblem(schema: JsonObject): string | undefined {
  const declaring = placesOf(schema).filter((place) => Object.hasOwn(place.schema, KEY));
  if (declaring.length === 0) return undefined;
  const reachable = new Set(reached(schema));
  const seen = new Set<string>();
  for (const place of declaring) {
    const at = `\`${KEY}\` at \`${oneLine(pathOf(place), 120) || "/"}\``;
    const name = own(place.schema, KEY);
    if (!reachable.has(place.schema)) return `${at} is not on a parameter`;
    if (typeof name !== "string" || !TOKEN.test(name)) return `${at} is no header name`;
    if (!["string", "integer", "boolean"].includes(own(place.schema, "type") as string))
      return `${at} is on a parameter that is no string, integer or boolean`;
    if (seen.has(name.toLowerCase())) return `${at} names a header twice`;
    seen.add(name.toLowerCase());
  }
  return undefined;
}

/** The parameters that are reached through `properties` only, at any depth. */
function* reached(root: JsonObject): Generator<JsonObject> {
  const pending = [root];
  for (let schema = pending.pop(); schema !== undefined; schema = pending.pop()) {
    const properties = own(schema, "properties");
    for (const child of isObject(properties) ? Object.values(properties) : []) {
      if (!isObject(child)) continue;
      yield child;
      pending.push(child);
    }
  }
}
