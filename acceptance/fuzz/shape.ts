// The input of an action, as data: for the interface's actions from the pin, with the readings that give
// some strings a form; for our own actions from the published schema. It uses no code of the service, so
// that a mistake there is not repeated here.
import { readFileSync } from "node:fs";

/** Forms of text that the readings and threat T8 give to some fields. */
export type Form =
  | "absolute-path"
  | "owner/name"
  | "clone-url"
  | "checkout-name"
  | "attachment-url"
  | "date-time"
  | "command-name"
  /** Has rules that the published schema does not tell. */
  | "untold";

export interface Shape {
  type: "string" | "integer" | "boolean" | "array" | "object" | "map";
  nullable?: boolean;
  /** Code points of a string, items of an array, or the number itself. */
  min?: number;
  max?: number;
  enum?: readonly (string | number)[];
  form?: Form;
  unique?: boolean;
  items?: Shape;
  fields?: Field[];
  values?: Shape;
}

export type Field = Shape & { name: string; required: boolean };

export interface Rule {
  rule: "exactlyOneOf" | "exactlyOneOfAfterMerge";
  /** The object it is about, as names to walk down; `[]` stands for each item of an array. */
  within: string[];
  names: string[];
  /** A name that counts as given only when it is true. */
  onlyTrue?: string;
}

export interface ActionShape {
  name: string;
  body: Shape & { fields: Field[] };
  rules: Rule[];
  /** Which fields are required depends on what the service has stored, so it may refuse any body. */
  dependsOnRecord?: true;
}

interface PinnedAction {
  name: string;
  fields: (Field & { format?: string })[];
  rules?: { rule: Rule["rule"]; fields: string[] }[];
}

export function readPin(): ActionShape[] {
  const file = new URL("pin.json", import.meta.resolve("@hawser/contract"));
  const pin = JSON.parse(readFileSync(file, "utf8")) as { actions: PinnedAction[] };
  return pin.actions.map(({ name, fields, rules = [] }) => ({
    name,
    body: { type: "object", fields: fields.map((field) => withForm(name, [], field)) },
    rules: rules.map(({ rule, fields }) => readRule(rule, fields)),
  }));
}

/** R18, R19, R35, R50 and T8, by the name of the field. */
function formOf(action: string, within: string[], name: string): Form | undefined {
  if (["path", "rootPath", "directory"].includes(name)) return "absolute-path";
  if (name === "repo" || name === "cloneRepo") return "owner/name";
  if (name === "cloneUrl") return "clone-url";
  if (name === "startAt") return "date-time";
  if (action === "run_command" && name === "command") return "command-name";
  if (name === "url") return within[0] === "attachments" ? "attachment-url" : "clone-url";
  if (name === "name" && (action === "clone_repository" || within[0] === "clone"))
    return "checkout-name";
  return undefined;
}

function withForm<S extends Shape>(action: string, within: string[], shape: S): S {
  const { name } = shape as { name?: string };
  const form = name === undefined ? undefined : formOf(action, within, name);
  const deeper = name === undefined ? within : [...within, name];
  return {
    ...shape,
    ...(form && { form }),
    ...(shape.items && { items: withForm(action, deeper, shape.items) }),
    ...(shape.fields && {
      fields: shape.fields.map((field) => withForm(action, deeper, field)),
    }),
  };
}

/** `["clone.repo", "clone.url"]` is about `clone`, `["attachments[].url", …]` about each attachment. */
function readRule(rule: Rule["rule"], fields: string[]): Rule {
  const paths = fields.map((field) => field.replace("[]", ".[]").replace(":true", "").split("."));
  const onlyTrue = fields.find((field) => field.endsWith(":true"))?.replace(":true", "");
  return {
    rule,
    within: paths[0]!.slice(0, -1),
    names: paths.map((path) => path.at(-1)!),
    ...(onlyTrue !== undefined && { onlyTrue }),
  };
}

interface JsonSchema {
  type?: string | string[];
  enum?: (string | number)[];
  const?: string | number;
  anyOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  items?: JsonSchema;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  pattern?: string;
  format?: string;
}

/** Rules of our own actions that are described in words only, or that compare one field with another. */
const untold = new Set([
  "timeZone",
  "cursor",
  "userId",
  "sessionId",
  "expiresAt",
  "cloneUrl",
  "events",
  "commandWord",
]);

/** Fields of our own actions of which exactly one is given, as their details say. */
const published: Record<string, string[][]> = {
  preview_scheduled_prompt: [
    ["scheduleId", "frequency"],
    ["scheduleId", "startAt"],
  ],
  list_schedule_runs: [["scheduleId", "triggerId"]],
  create_trigger: [["directory", "cloneRepo", "cloneUrl"]],
};

const dependingOnRecord = new Set(["update_sign_in_settings"]);

export function readPublished(name: string, input: unknown): ActionShape {
  const body = fromSchema(input as JsonSchema);
  const rules = (published[name] ?? []).map((fields) => readRule("exactlyOneOf", fields));
  return {
    name,
    body: { ...body, fields: body.fields ?? [] },
    rules,
    ...(dependingOnRecord.has(name) && { dependsOnRecord: true }),
  };
}

function fromSchema(schema: JsonSchema): Shape {
  if (Array.isArray(schema.type)) {
    const type = schema.type.find((each) => each !== "null")!;
    return { ...fromSchema({ ...schema, type }), nullable: schema.type.includes("null") };
  }
  if (schema.anyOf) {
    const given = schema.anyOf.find(({ type }) => type !== "null")!;
    return { ...fromSchema(given), nullable: schema.anyOf.length > 1 };
  }
  const min = schema.minLength ?? schema.minItems ?? schema.minimum;
  const max = schema.maxLength ?? schema.maxItems ?? schema.maximum;
  const { type, properties, required = [], additionalProperties } = schema;
  const mapped = typeof additionalProperties === "object" && !properties;
  return {
    type: mapped ? "map" : ((type ?? "string") as Shape["type"]),
    ...(min !== undefined && { min }),
    ...(max !== undefined && { max }),
    ...(schema.enum && { enum: schema.enum }),
    ...((schema.pattern ?? schema.format) !== undefined && { form: "untold" as const }),
    ...(schema.uniqueItems && { unique: true }),
    ...(schema.items && { items: fromSchema(schema.items) }),
    ...(mapped && { values: fromSchema(additionalProperties) }),
    ...(properties && {
      fields: Object.entries(properties).map(([name, property]) => ({
        ...fromSchema(property),
        ...(untold.has(name) && { form: "untold" as const }),
        name,
        required: required.includes(name),
      })),
    }),
  };
}
