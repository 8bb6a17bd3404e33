// What the audit trail stores of an input: ids, words and flags. Fields marked as never logged are left
// out, and a long text is replaced by its length, because the trail records who did what and is not a
// second copy of prompts.
import { codePointLength, type Action } from "@hawser/contract";
import { z } from "zod";

const longestText = 200;

export type Redact = (input: Record<string, unknown>) => Record<string, unknown>;

/** Created once per action: finds its never-logged fields in the published schema. */
export function redactorFor(action: Action): Redact {
  const schema = z.toJSONSchema(action.input, { io: "input" }) as JsonSchema;
  return (input) => keep(input, schema) as Record<string, unknown>;
}

/** For an input without a schema, which contains nothing that must never be logged. */
export const redactTexts: Redact = (input) => keep(input, undefined) as Record<string, unknown>;

/** The ids in a result, at most one level deep: the records that the call created or changed. */
export function recordIds(result: unknown): Record<string, string> {
  const fields = (value: unknown) =>
    typeof value === "object" && value !== null ? Object.entries(value) : [];
  const shallow = fields(result).flatMap(([key, value]) => [
    [key, value] as const,
    ...fields(value),
  ]);
  return Object.fromEntries(
    shallow.filter(
      (entry): entry is [string, string] =>
        /[a-z]Id$/.test(entry[0]) && typeof entry[1] === "string",
    ),
  );
}

interface JsonSchema {
  writeOnly?: boolean;
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
}

function keep(value: unknown, schema: JsonSchema | undefined): unknown {
  if (schema?.writeOnly) return undefined;
  if (typeof value === "string") {
    const length = codePointLength(value);
    return length > longestText ? { characters: length } : value;
  }
  if (Array.isArray(value)) return value.map((item) => keep(item, schema?.items));
  if (typeof value === "object" && value !== null) {
    const kept = Object.entries(value).map(([key, inner]) => [
      key,
      keep(inner, schema?.properties?.[key]),
    ]);
    return Object.fromEntries(kept.filter(([, inner]) => inner !== undefined));
  }
  return value;
}
