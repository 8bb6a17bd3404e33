// The JSON Schemas of an action, as the action listing, MCP tools and the OpenAPI document publish
// them. They are made in one place, so that a caller sees the same schema everywhere.
import type { Action } from "@hawser/contract";
import { z } from "zod";

export type JsonSchema = Record<string, unknown>;

export interface PublishedSchemas {
  input: JsonSchema;
  /** Always an object; its named records are in `$defs`. */
  result: JsonSchema;
}

const made = new WeakMap<Action, PublishedSchemas>();

export function publishedSchemas(action: Action): PublishedSchemas {
  let schemas = made.get(action);
  if (!schemas) {
    schemas = { input: publish(action.input, "input"), result: publish(action.result, "output") };
    made.set(action, schemas);
  }
  return schemas;
}

/** The schema of a part of a result: an open object, whose named records are in `$defs`. */
export const publishResult = (schema: z.ZodType) => publish(schema, "output");

function publish(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  const { $ref, $defs, ...rest } = cleaned(z.toJSONSchema(schema, { io }), io) as {
    $ref?: string;
    $defs?: Record<string, JsonSchema>;
  };
  if ($ref === undefined) return { ...rest, ...($defs && { $defs }) };
  // MCP requires an object schema here, not a reference to one.
  const { [$ref.slice("#/$defs/".length)]: root, ...others } = $defs ?? {};
  return { ...root, ...(Object.keys(others).length > 0 && { $defs: others }) };
}

/**
 * Removes internal annotations, and patterns that only repeat `format`. Results are published as open
 * objects: they can get new fields, and a client that validates them must not fail then.
 */
function cleaned(schema: unknown, io: "input" | "output"): JsonSchema {
  return JSON.parse(
    JSON.stringify(schema, function (this: JsonSchema, key, value: unknown) {
      if (key === "idOf" || key === "$schema") return undefined;
      if (io === "output" && key === "additionalProperties" && value === false) return undefined;
      if (key === "pattern" && this["format"] === "date-time") return undefined;
      // Every name is a string, and no number of JSON that we read is larger.
      if (key === "propertyNames" || value === Number.MAX_SAFE_INTEGER) return undefined;
      return withoutNullBranch(value);
    }),
  ) as JsonSchema;
}

/** Writes `anyOf` of a plain type and null as one schema with both types, which is shorter and means the same. */
function withoutNullBranch(schema: unknown): unknown {
  const { anyOf, ...outer } = (schema ?? {}) as { anyOf?: JsonSchema[] };
  const [value, none, ...more] = anyOf ?? [];
  if (none?.["type"] !== "null" || more.length > 0) return schema;
  const type = value?.["type"];
  if (typeof type !== "string") return schema;
  const choices = value?.["enum"] as unknown[] | undefined;
  return { ...value, ...outer, type: [type, "null"], ...(choices && { enum: [...choices, null] }) };
}
