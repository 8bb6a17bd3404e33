// Turns a JSON Schema, as made from an action's zod schemas, into the rows of a Markdown table:
// one row per field, nested fields written as `clone.repo` or `chain[].kind`.
import type { z } from "zod";

export type Schema = z.core.JSONSchema.JSONSchema;

interface Row {
  field: string;
  type: string;
  required: boolean;
  limits: string;
  meaning: string;
}

/** The table of an object's fields, or a sentence if it has none. */
export function fieldTable(schema: Schema, text: { required: string; empty: string }): string {
  const rows = fieldsOf(schema, "", { root: schema, within: [] });
  if (rows.length === 0) return text.empty;
  return [
    `| Field | Type | ${text.required} | Limits | Meaning |`,
    "| --- | --- | --- | --- | --- |",
    ...rows.map(
      (row) =>
        `| \`${row.field}\` | ${cell(row.type)} | ${row.required ? "yes" : "no"} | ${cell(row.limits)} | ${cell(row.meaning)} |`,
    ),
  ].join("\n");
}

interface Place {
  root: Schema;
  /** The enclosing schemas, so that a recursive record ends. */
  within: Schema[];
}

function fieldsOf(schema: Schema, prefix: string, place: Place): Row[] {
  const { main } = unwrap(schema, place.root);
  if (place.within.includes(main)) return [];
  const inside = { ...place, within: [...place.within, main] };
  if (main.anyOf)
    return distinct(alternatives(main).flatMap((one) => fieldsOf(one, prefix, inside)));
  if (main.type === "array") return fieldsOf(itemsOf(main), `${prefix}[]`, inside);
  return Object.entries(main.properties ?? {}).flatMap(([name, value]) => {
    const property = value as Schema;
    const field = prefix === "" ? name : `${prefix}.${name}`;
    const row: Row = {
      field,
      type: typeOf(property, place.root),
      required: main.required?.includes(name) ?? false,
      limits: limitsOf(property, place.root),
      meaning: meaningOf(property, place.root),
    };
    return [row, ...fieldsOf(property, field, inside)];
  });
}

/** Resolves references and separates `or null`; returns the remaining schema. */
export function unwrap(schema: Schema, root: Schema): { main: Schema; nullable: boolean } {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.replace("#/$defs/", "");
    const target = schema.$ref === "#" ? root : root.$defs?.[name];
    if (!target) throw new Error(`The schema refers to ${schema.$ref}, which it does not define.`);
    return unwrap(target, root);
  }
  const options = alternatives(schema);
  const rest = options.filter((option) => option.type !== "null");
  if (rest.length === 1 && schema.anyOf) {
    return { main: unwrap(rest[0]!, root).main, nullable: options.length > rest.length };
  }
  return { main: schema, nullable: false };
}

function typeOf(schema: Schema, root: Schema): string {
  const { main, nullable } = unwrap(schema, root);
  if (nullable) return `${typeOf(main, root)} or null`;
  if (main.const !== undefined) return `\`${JSON.stringify(main.const)}\``;
  if (main.enum) return main.enum.map((value) => `\`${JSON.stringify(value)}\``).join(", ");
  if (main.anyOf) {
    return [...new Set(alternatives(main).map((one) => typeOf(one, root)))].join(" or ");
  }
  if (main.type === "array") return `array of ${typeOf(itemsOf(main), root)}`;
  if (main.type === "object" && !main.properties && typeof main.additionalProperties === "object") {
    return `map of ${typeOf(main.additionalProperties, root)}`;
  }
  // Zod writes a nullable plain type as a list of types, which its own types do not include.
  return ([main.type ?? "any value"] as (string | string[])[]).flat().join(" or ");
}

function limitsOf(schema: Schema, root: Schema): string {
  const { main } = unwrap(schema, root);
  const limits = [
    range(main.minLength, main.maxLength, "character"),
    range(main.minItems, main.maxItems, "item"),
    // Zod bounds every integer by JavaScript's safe range; callers need not see that.
    range(safe(main.minimum), safe(main.maximum), ""),
    main.exclusiveMinimum !== undefined && `greater than ${main.exclusiveMinimum}`,
    main.exclusiveMaximum !== undefined && `less than ${main.exclusiveMaximum}`,
    main.uniqueItems && "no item twice",
    main.format && `format ${main.format}`,
    main.type === "array" && limitsOf(itemsOf(main), root).replace(/^(?=.)/, "each: "),
    schema.default !== undefined && `default \`${JSON.stringify(schema.default)}\``,
  ];
  return limits.filter((limit) => limit).join("; ");
}

function meaningOf(schema: Schema, root: Schema): string {
  const { main } = unwrap(schema, root);
  const subject = main.type === "array" ? unwrap(itemsOf(main), root).main : main;
  const idOf = subject["idOf"] as string | undefined;
  const meanings = [
    schema.description ?? main.description,
    idOf && `Id of ${/^[aeio]/.test(idOf) ? "an" : "a"} ${spaced(idOf)}.`,
    (schema["writeOnly"] ?? main["writeOnly"]) && "Never logged or audited.",
  ];
  return meanings.filter((meaning) => meaning).join(" ");
}

function range(min: number | undefined, max: number | undefined, unit: string): string {
  const bounds =
    min !== undefined && max !== undefined
      ? `${min} to ${max}`
      : min !== undefined
        ? `at least ${min}`
        : max !== undefined
          ? `at most ${max}`
          : "";
  const units = bounds.endsWith(" 1") ? unit : unit.replace(/.$/, "$&s");
  return bounds === "" ? "" : `${bounds} ${units}`.trim();
}

function safe(bound: number | undefined): number | undefined {
  return bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER ? bound : undefined;
}

const alternatives = (schema: Schema) => schema.anyOf ?? [];
const itemsOf = (schema: Schema) => (schema.items ?? {}) as Schema;
const spaced = (name: string) =>
  name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replace(/^api /, "API ");
const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll("\n", " ");

function distinct(rows: Row[]): Row[] {
  return [...new Map(rows.toReversed().map((row) => [row.field, row])).values()].toReversed();
}
