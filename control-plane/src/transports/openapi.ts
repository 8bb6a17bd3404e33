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
  /** What the actions of each group are about. */
  groups: Readonly<Record<string, string>>;
  /** A request and its result for each action, from real calls. */
  examples: Readonly<Record<string, Example>>;
  /** Paths that are no actions. */
  paths: Readonly<Record<string, object>>;
  /** Schemas that those paths refer to. */
  schemas: Readonly<Record<string, object>>;
}

export interface Example {
  request: object;
  result: object;
}

export function openApiDocument(actions: Actions, about: Description): object {
  const schemas = new Map<string, object>([
    ["Error", errorSchema],
    ["ActionListing", listingSchema],
    ...Object.entries(about.schemas),
  ]);
  const ofActions = Object.entries(actions).map(([name, action]) => [
    `/api/rest/actions/${name}`,
    { post: operation(name, action, about.examples[name], schemas) },
  ]);
  return {
    openapi: "3.1.0",
    info: {
      title: about.title,
      version: about.version,
      summary: about.summary,
      description: introduction,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: about.baseUrl }],
    security: [{ apiKey: [] }],
    tags: Object.entries(about.groups).map(([name, description]) => ({ name, description })),
    paths: {
      "/api/rest/actions": { get: listing },
      ...(Object.fromEntries(ofActions) as object),
      ...about.paths,
    },
    components: {
      securitySchemes: { apiKey: { type: "http", scheme: "bearer", description: "An API key." } },
      headers,
      schemas: Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1))),
    },
  };
}

const introduction =
  "Every action is one POST with a JSON object, answered 200 with `result` or with an `error` that has a stable code. Results can get new fields; inputs are strict. Send an Idempotency-Key with changes, and repeat a call with the same key if its answer was lost.";

function operation(
  name: string,
  action: Action,
  example: Example | undefined,
  schemas: Map<string, object>,
): object {
  const { input, result } = publishedSchemas(action);
  const listed = action.permission
    ? `Needs the permission \`${action.permission}\`.`
    : "Any valid key will do.";
  return {
    operationId: name,
    tags: [action.group],
    summary: action.summary,
    description: [action.details, listed].filter(Boolean).join(" "),
    parameters: action.effect === "reads" ? [requestId] : [idempotencyHeader, requestId],
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: hoist(input, schemas),
          ...(example && { example: example.request }),
        },
      },
    },
    responses: {
      200: {
        description: "Done.",
        headers: answerHeaders,
        content: {
          "application/json": {
            schema: {
              type: "object",
              properties: { result: hoist(result, schemas) },
              required: ["result"],
            },
            ...(example && { example: { result: example.result } }),
          },
        },
      },
      ...refusalResponses([...commonRefusals, "unknown_action", ...action.refusals]),
    },
  };
}

/** The answers to refused calls, by status. */
export function refusalResponses(codes: readonly RefusalCode[]): Record<string, object> {
  const byStatus = Map.groupBy(new Set(codes), (code) => refusals[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      status,
      {
        description: group.map((code) => `\`${code}\`: ${refusals[code].meaning}`).join(" "),
        headers: {
          "X-Request-Id": headerRef("X-Request-Id"),
          ...(status === 401 && { "WWW-Authenticate": headerRef("WWW-Authenticate") }),
          ...([409, 429, 503].includes(status) && { "Retry-After": headerRef("Retry-After") }),
        },
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

const headerRef = (name: string) => ({ $ref: `#/components/headers/${name}` });

const headers = {
  "X-Request-Id": {
    description: "The id of the call, which finds it in logs and audit entries.",
    schema: { type: "string" },
  },
  RateLimit: {
    description: "The calls that the key has left, and in how many seconds it has all again.",
    schema: { type: "string" },
    example: '"key";r=399;t=1',
  },
  "RateLimit-Policy": {
    description: "How many calls the key has at most, and in how many seconds they are refilled.",
    schema: { type: "string" },
    example: '"key";q=400;w=2',
  },
  "Retry-After": {
    description: "After how many seconds to call again; missing if that would not help.",
    schema: { type: "integer", minimum: 0 },
  },
  "WWW-Authenticate": {
    description: "How to authenticate: Bearer.",
    schema: { type: "string" },
  },
};

const answerHeaders = Object.fromEntries(
  ["X-Request-Id", "RateLimit", "RateLimit-Policy"].map((name) => [name, headerRef(name)]),
);

const idempotencyHeader = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description:
    "Calls with the same key and body take effect once, and get the same answer for 24 hours.",
  schema: { type: "string", minLength: 1, maxLength: 255 },
};

const requestId = {
  name: "X-Request-Id",
  in: "header",
  required: false,
  description: "Your own id for the call. It appears in logs, audit entries and the answer.",
  schema: { type: "string", pattern: "^[\\w.-]{1,100}$" },
};

const listing = {
  operationId: "list_actions",
  summary: "List the actions that the key may call, with their schemas.",
  description: "Any valid key will do.",
  parameters: [requestId],
  responses: {
    200: {
      description: "The actions.",
      headers: answerHeaders,
      content: { "application/json": { schema: { $ref: "#/components/schemas/ActionListing" } } },
    },
    ...refusalResponses(["unauthenticated", "rate_limited", "internal", "unavailable"]),
  },
};

const schemaText = { type: "object", description: "A JSON Schema." };

const listingSchema = {
  type: "object",
  description: "The actions that a key may call.",
  properties: {
    actions: {
      type: "array",
      items: {
        type: "object",
        properties: {
          name: { type: "string" },
          summary: { type: "string", description: "One sentence about the action." },
          group: { type: "string", description: "What the action is about." },
          permission: { type: ["string", "null"], description: "Null if any valid key will do." },
          effect: { type: "string", enum: ["reads", "changes", "destroys"] },
          input: schemaText,
          result: schemaText,
        },
        required: ["name", "summary", "group", "permission", "effect", "input", "result"],
      },
    },
  },
  required: ["actions"],
};

const errorSchema = {
  type: "object",
  description: "A refusal. Match on the code, never on the message.",
  properties: {
    error: {
      type: "object",
      properties: {
        code: { type: "string", enum: Object.keys(refusals) },
        message: { type: "string", description: "What happened, and what to do next." },
        retry: {
          type: "string",
          enum: ["never", "later", "changed"],
          description:
            "Whether the same call can succeed: never, after a while, or only after the state that the message names has changed.",
        },
        fields: {
          type: "array",
          description: "The wrong fields, 20 at most.",
          items: {
            type: "object",
            properties: { field: { type: "string" }, message: { type: "string" } },
            required: ["field", "message"],
          },
        },
        retryAfterMs: { type: "integer", minimum: 0, description: "How long to wait." },
        incidentId: { type: "string", description: "Finds the cause in the service's logs." },
        sessionId: { type: "string", description: "The session that the call made nevertheless." },
        nextAction: { type: "string", description: "The action to call next." },
        callId: { type: "string", description: "Identifies the call in the service's logs." },
      },
      required: ["code", "message", "retry"],
    },
  },
  required: ["error"],
};
