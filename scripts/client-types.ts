// Writes client/src/actions.ts: every action, record, log entry and refusal code of the contract as plain
// TypeScript. So the client depends on no other package, and an editor shows the contract's own words.
import { refusals, registry, sessionUpdates, type Action } from "@hawser/contract";
import { z } from "zod";
import type { Schema } from "./schema-table.ts";

const head = `// The actions of Hawser as types. Generated from the contract by "npm run generate"; do not edit.

/** Options of every call. */
export interface CallOptions {
  /** Limits the call with all its attempts. */
  deadlineMs?: number | undefined;
  /** Identifies the effect, so that a later call with the same key repeats the answer. Default: random. */
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
}
`;

/** The text of client/src/actions.ts. */
export function clientTypes(): string {
  const records = new Map<string, Schema>();
  const typeOf = (schema: z.ZodType, io: "input" | "output") => {
    const { $defs = {}, ...own } = z.toJSONSchema(schema, { io }) as Schema;
    for (const [name, record] of Object.entries($defs)) addRecord(records, name, record);
    return writeType(own, 1);
  };
  const methods = Object.entries(registry).map(([name, action]: [string, Action]) => {
    const about = [action.summary, action.details].filter(Boolean).join(" ");
    const body = action.input.safeParse({}).success ? "body?" : "body";
    const input = typeOf(action.input, "input");
    const result = typeOf(action.result, "output");
    return `${comment(about, 1)}  ${name}(${body}: ${input}, options?: CallOptions): Promise<${result}>;\n`;
  });
  const updates = Object.entries(sessionUpdates).map(([name, schema]) => {
    const type = typeOf(schema.extend({ sessionUpdate: z.literal(name) }), "output");
    return `${comment(String(schema.meta()?.description), 1)}  | ${type}\n`;
  });
  const codes = Object.entries(refusals).map(
    ([code, { meaning }]) => `${comment(meaning, 1)}  | "${code}"\n`,
  );
  const named = [...records].map(
    ([name, record]) =>
      `${comment(record.description, 0)}export type ${name} = ${writeType(record, 0)};\n`,
  );
  return [
    head,
    `/** Every action, under the name that the interface gives it. */\nexport interface Actions {\n${methods.join("\n")}}\n`,
    ...named,
    `/** An entry of a session's log. Later versions can add types. */\nexport type SessionUpdate =\n${updates.join("")};\n`,
    `/** Every code of a refusal. */\nexport type RefusalCode =\n${codes.join("")};\n`,
    `export const actionNames = [\n${Object.keys(registry)
      .map((name) => `  "${name}",\n`)
      .join("")}] as const satisfies readonly (keyof Actions)[];\n`,
  ].join("\n");
}

/** Throws if two different records have one name. */
function addRecord(records: Map<string, Schema>, name: string, record: Schema): void {
  const known = records.get(name);
  if (known && JSON.stringify(known) !== JSON.stringify(record)) {
    throw new Error(`Input and result have different records with the name ${name}.`);
  }
  records.set(name, record);
}

function writeType(schema: Schema, depth: number): string {
  if (schema.$ref !== undefined) return schema.$ref.replace("#/$defs/", "");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  // Zod writes a nullable plain type as a list of types, which its own types do not include.
  const { type } = schema as { type?: unknown };
  const options = Array.isArray(type)
    ? type.map((each: Schema["type"]) => ({ ...schema, type: each }) as Schema)
    : (schema.anyOf ?? schema.oneOf);
  if (options) return options.map((option) => writeType(option, depth)).join(" | ");
  switch (schema.type) {
    case "object":
      return writeObject(schema, depth);
    case "array":
      return `Array<${writeType((schema.items ?? {}) as Schema, depth)}>`;
    case "integer":
      return "number";
    case "string":
    case "number":
    case "boolean":
    case "null":
      return schema.type;
    case undefined:
      return "unknown";
    default:
      throw new Error(`No TypeScript is known for ${JSON.stringify(schema)}.`);
  }
}

function writeObject({ properties, required, additionalProperties }: Schema, depth: number) {
  if (!properties || Object.keys(properties).length === 0) {
    const value = typeof additionalProperties === "object" ? additionalProperties : undefined;
    if (value) return `Record<string, ${writeType(value, depth)}>`;
    return additionalProperties === false ? "Record<string, never>" : "Record<string, unknown>";
  }
  const fields = Object.entries(properties).map(([name, value]) => {
    const schema = value as Schema;
    const type = writeType(schema, depth + 1);
    const isRequired = required?.includes(name) ?? false;
    const field = isRequired ? `${name}: ${type}` : `${name}?: ${type} | undefined`;
    return `${comment(schema.description, depth + 1)}${indent(depth + 1)}${field};\n`;
  });
  return `{\n${fields.join("")}${indent(depth)}}`;
}

const indent = (depth: number) => "  ".repeat(depth);

function comment(text: string | undefined, depth: number): string {
  return text ? `${indent(depth)}/** ${text.replaceAll("*/", "*\\/")} */\n` : "";
}
