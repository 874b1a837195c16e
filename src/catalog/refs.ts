// Refs: finds where the references of a schema lead.
//
// Nothing is fetched: every reference must end inside the schema that holds it, at a schema that exists.
//
//   refs-1. Checking one value in place takes a bounded number of steps: no reference leads back to itself without a step
//           into the value, and references do not double the work at every level.

import { isObject, type JsonObject, oneLine } from "../contracts/index.js";
import { own, pathOf, placesOf, type SchemaPlace } from "./walk.js";

/** Steps a validator may take over one value before it descends into it. */
const IN_PLACE_CAP = 10_000;

const REFERENCES = ["$ref", "$dynamicRef"] as const;

/** Whether a schema refers to another one. */
export function isReference(schema: JsonObject): boolean {
  return REFERENCES.some((keyword) => own(schema, keyword) !== undefined);
}

export interface Refs {
  /** Every schema: those that stand where a keyword puts one, and those that only a reference leads to. */
  readonly places: readonly SchemaPlace[];
  /** Where the references of a schema lead. */
  readonly targets: ReadonlyMap<JsonObject, readonly JsonObject[]>;
}

/**
 * Resolves every reference, or says which one cannot be resolved. `base`: every schema that stands where a keyword puts
 * one, as `placesOf` found them with `seen`.
 */
export function resolveRefs(base: readonly SchemaPlace[], seen: Set<JsonObject>): Refs | string {
  const found = [...base];
  const targets = new Map<JsonObject, JsonObject[]>();
  let names: Names | undefined; // most schemas refer to nothing
  for (const place of found) {
    for (const keyword of REFERENCES) {
      const ref = own(place.schema, keyword);
      if (ref === undefined) continue;
      const says = (what: string) => `\`${keyword}\` at \`${oneLine(pathOf(place), 120) || "/"}\` ${what}`;
      if (typeof ref !== "string") return says("is no string");
      names ??= namesOf(base);
      const target = resolve(ref, place.resource, names);
      if (target === "remote") return says(`leaves the schema: \`${oneLine(ref, 80)}\``);
      if (target === undefined) return says(`points at nothing: \`${oneLine(ref, 80)}\``);
      if (!isObject(target.to)) continue;
      targets.set(place.schema, [...(targets.get(place.schema) ?? []), target.to]);
      // A target may stand where no keyword puts a schema. It is appended, so that this loop reaches it and its own
      // references are resolved as well.
      for (const more of placesOf(target.to, ref, target.resource, seen)) found.push(more);
    }
  }
  return { places: found, targets };
}

interface Names {
  readonly resources: ReadonlyMap<string, JsonObject>;
  readonly anchors: ReadonlyMap<JsonObject, ReadonlyMap<string, JsonObject>>;
}

function namesOf(found: readonly SchemaPlace[]): Names {
  const resources = new Map<string, JsonObject>();
  const anchors = new Map<JsonObject, Map<string, JsonObject>>();
  for (const { schema, resource } of found) {
    const id = own(schema, "$id");
    const labels = [own(schema, "$anchor"), own(schema, "$dynamicAnchor")];
    if (typeof id === "string" && id.startsWith("#")) labels.push(id.slice(1));
    else if (typeof id === "string") resources.set(id.replace(/#$/, ""), schema);
    for (const label of labels) {
      if (typeof label !== "string") continue;
      const known = anchors.get(resource) ?? new Map<string, JsonObject>();
      anchors.set(resource, known.set(label, schema));
    }
  }
  return { resources, anchors };
}

/** Ids are compared as they are written: one that only URL arithmetic would find counts as remote. */
function resolve(
  ref: string,
  from: JsonObject,
  names: Names,
): { to: JsonObject | boolean; resource: JsonObject } | "remote" | undefined {
  const hash = ref.indexOf("#");
  const uri = hash < 0 ? ref : ref.slice(0, hash);
  const resource = uri === "" ? from : names.resources.get(uri);
  if (resource === undefined) return "remote";
  const fragment = decode(hash < 0 ? "" : ref.slice(hash + 1));
  if (fragment === undefined) return undefined;
  if (fragment === "") return { to: resource, resource };
  const to = fragment.startsWith("/") ? at(resource, fragment) : names.anchors.get(resource)?.get(fragment);
  return isObject(to) || typeof to === "boolean" ? { to, resource } : undefined;
}

function decode(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}

function at(schema: JsonObject, pointer: string): unknown {
  let value: unknown = schema;
  for (const step of pointer.slice(1).split("/")) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as JsonObject)[key];
  }
  return value;
}

/**
 * Says why checking a value in place might not end in time; undefined when it must. It uses a list instead of recursion
 * and works out the cost of each schema once. (refs-1)
 */
export function inPlaceProblem(refs: Refs, cap = IN_PLACE_CAP): string | undefined {
  const cost = new Map<JsonObject, number>();
  /** The schemas that are being walked, each with those that are applied to the same value. */
  const open = new Map<JsonObject, readonly JsonObject[]>();
  for (const place of refs.places) {
    const pending = [place.schema];
    for (let schema = pending.at(-1); schema !== undefined; schema = pending.at(-1)) {
      if (cost.has(schema)) {
        pending.pop();
        continue;
      }
      const walked = open.get(schema);
      if (walked === undefined) {
        const next = inPlace(schema, refs);
        open.set(schema, next);
        for (const child of next) {
          // A schema that is open and has no cost yet is being walked: meeting it again is a circle.
          if (open.has(child) && !cost.has(child))
            return "a reference leads back to itself without a step into the value";
          pending.push(child);
        }
      } else {
        let sum = 1;
        for (const child of walked) sum += cost.get(child) ?? 0;
        if (sum > cap) return `its references multiply into more than ${cap} steps for one value`;
        cost.set(schema, sum);
        pending.pop();
      }
    }
  }
  return undefined;
}

const IN_PLACE = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"] as const;

/** Schemas that are applied to the same value as this one, in an order that does not depend on the order of its keys. */
function inPlace(schema: JsonObject, refs: Refs): readonly JsonObject[] {
  const next: unknown[] = [...(refs.targets.get(schema) ?? [])];
  for (const key of IN_PLACE) {
    if (!Object.hasOwn(schema, key)) continue;
    const value = schema[key];
    if (key.endsWith("Of")) next.push(...(Array.isArray(value) ? value : []));
    else if (key.startsWith("depend")) next.push(...(isObject(value) ? Object.values(value) : []));
    else next.push(value);
  }
  return next.filter(isObject);
}
