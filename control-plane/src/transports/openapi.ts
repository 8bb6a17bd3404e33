// The OpenAPI 3.1 description of a registry, generated from the entries of its actions.
import {
  commonRefusals,
  refusals,
  type Action,
  type Actions,
  type RefusalCode,
} from "@hawser/contract";
import { publishedSchemas, type JsonSchema } from "../dispatch/published-schema.ts";

export interface Description {
  title: string;
  version: string;
  summary: string;
  baseUrl: string;
}

export function openApiDocument(
  actions: Actions,
  built: (name: string) => boolean,
  about: Description,
): object {
  const schemas = new Map<string, object>([["Error", errorSchema]]);
  const paths = Object.entries(actions)
    .filter(([name]) => built(name))
    .map(([name, action]) => [
      `/api/rest/actions/${name}`,
      { post: operation(name, action, schemas) },
    ]);
  return {
    openapi: "3.1.0",
    info: {
      title: about.title,
      version: about.version,
      summary: about.summary,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: about.baseUrl }],
    security: [{ apiKey: [] }],
    paths: Object.fromEntries(paths) as object,
    components: {
      securitySchemes: { apiKey: { type: "http", scheme: "bearer", description: "An API key." } },
      schemas: Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1))),
    },
  };
}

function operation(name: string, action: Action, schemas: Map<string, object>): object {
  const { input, result } = publishedSchemas(action);
  const listed = action.permission
    ? `Needs the permission \`${action.permission}\`.`
    : "Any valid key will do.";
  return {
    operationId: name,
    summary: action.summary,
    description: [action.details, listed].filter(Boolean).join(" "),
    parameters: action.effect === "reads" ? [] : [idempotencyHeader],
    requestBody: {
      required: true,
      content: { "application/json": { schema: hoist(input, schemas) } },
    },
    responses: {
      200: {
        description: "Done.",
        content: {
          "application/json": {
            schema: {
              type: "object",
              properties: { result: hoist(result, schemas) },
              required: ["result"],
              additionalProperties: false,
            },
          },
        },
      },
      ...refusalResponses([...commonRefusals, "unknown_action", ...action.refusals]),
    },
  };
}

function refusalResponses(codes: RefusalCode[]): Record<string, object> {
  const byStatus = Map.groupBy(new Set(codes), (code) => refusals[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      status,
      {
        description: group.map((code) => `\`${code}\`: ${refusals[code].meaning}`).join(" "),
        content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
      },
    ]),
  );
}

/** Moves the named records of a schema into the document's components, and its references with them. */
function hoist({ $defs, ...schema }: JsonSchema, schemas: Map<string, object>): object {
  for (const [name, record] of Object.entries($defs ?? {}))
    schemas.set(name, repointed(record as JsonSchema));
  return repointed(schema);
}

function repointed(schema: JsonSchema): object {
  return JSON.parse(
    JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'),
  ) as object;
}

const idempotencyHeader = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description:
    "Calls with the same key and body take effect once, and get the same answer for 24 hours.",
  schema: { type: "string", minLength: 1, maxLength: 255 },
};

const errorSchema = {
  type: "object",
  description: "A refusal. Match on the code, never on the message.",
  properties: {
    error: {
      type: "object",
      properties: {
        code: { type: "string", enum: Object.keys(refusals) },
        message: { type: "string" },
        fields: {
          type: "array",
          items: {
            type: "object",
            properties: { field: { type: "string" }, message: { type: "string" } },
            required: ["field", "message"],
          },
        },
        retryAfterMs: { type: "integer", minimum: 0 },
        incidentId: { type: "string" },
      },
      required: ["code", "message"],
    },
  },
  required: ["error"],
};
