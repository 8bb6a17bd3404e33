// What the audit trail stores of an input: ids, words and flags. Fields marked as never logged are left
// out, and a long text is replaced by its length, because the trail records who did what and is not a
// second copy of prompts. Of an address only the origin is stored: its path may contain a secret.
import { codePointLength, idPrefixes, parseId, type Action, type IdKind } from "@hawser/contract";
import { z } from "zod";

const longestText = 200;
/** More than any result has. */
const mostIds = 20;

export type Redact = (input: Record<string, unknown>) => Record<string, unknown>;

/** Created once per action: finds its never-logged fields in the published schema. */
export function redactorFor(action: Action): Redact {
  const schema = z.toJSONSchema(action.input, { io: "input" }) as JsonSchema;
  return (input) => keep(input, schema) as Record<string, unknown>;
}

/** For an input without a schema, which contains nothing that must never be logged. */
export const redactTexts: Redact = (input) => keep(input, undefined) as Record<string, unknown>;

/**
 * The ids in a result, at most one level deep: the records that the call created or changed. Fields such as
 * `modelId` have texts of callers and hosts, of any length, so only ids of this service are kept.
 */
export function recordIds(result: unknown): Record<string, string> {
  const fields = (value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.entries(value)
      : [];
  const shallow = fields(result).flatMap(([key, value]) => [
    [key, value] as const,
    ...fields(value),
  ]);
  const ids = shallow.filter(
    (entry): entry is [string, string] => /^[a-z]\w{0,50}Id$/.test(entry[0]) && isId(entry[1]),
  );
  return Object.fromEntries(ids.slice(0, mostIds));
}

const kinds = Object.keys(idPrefixes) as IdKind[];

const isId = (value: unknown) =>
  typeof value === "string" && kinds.some((kind) => parseId(kind, value) !== null);

interface JsonSchema {
  writeOnly?: boolean;
  format?: string;
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
}

function keep(value: unknown, schema: JsonSchema | undefined): unknown {
  if (schema?.writeOnly) return undefined;
  if (typeof value === "string") {
    if (schema?.format === "uri") return URL.parse(value)?.origin ?? keep(value, undefined);
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
