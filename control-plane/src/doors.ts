// The paths of the coding product that are no actions, as the OpenAPI document describes them: streams of
// events, files, deliveries to triggers, and signing in.
import { SessionRecord, sessionUpdates } from "@hawser/contract";
import { publishResult } from "./dispatch/published-schema.ts";
import { signInPaths } from "./sign-in/requests.ts";
import { refusalResponses } from "./transports/openapi.ts";

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** The schemas of log entries and of the events in streams. */
export const doorSchemas: Record<string, object> = {
  ...Object.fromEntries(
    Object.entries(sessionUpdates).map(([name, schema]) => {
      const { type, properties, required = [], ...rest } = publishResult(schema);
      const typed = { sessionUpdate: { const: name }, ...(properties as object) };
      return [
        updateName(name),
        {
          ...rest,
          type,
          properties: typed,
          required: ["sessionUpdate", ...(required as string[])],
        },
      ];
    }),
  ),
  SessionUpdate: {
    description: "The types of log entries. New types can be added: ignore those you do not know.",
    oneOf: Object.keys(sessionUpdates).map((name) => ref(updateName(name))),
    discriminator: {
      propertyName: "sessionUpdate",
      mapping: Object.fromEntries(
        Object.keys(sessionUpdates).map((name) => [name, ref(updateName(name)).$ref]),
      ),
    },
  },
  SessionStreamEvent: {
    description:
      "The data of an event in a session's stream; the event's name says which. entry: an entry of the log, which is also the event's id. live: text that the agent is writing. record: the session, when it differs. resync: the stream ends here; connect again.",
    anyOf: [
      {
        title: "entry",
        type: "object",
        properties: {
          sessionId: { type: "string" },
          seq: { type: "integer", description: "1, 2, 3 … without a gap." },
          at: { type: "string", format: "date-time" },
          turnId: { type: ["string", "null"] },
          update: ref("SessionUpdate"),
        },
        required: ["sessionId", "seq", "at", "turnId", "update"],
      },
      {
        title: "live",
        type: "object",
        properties: {
          sessionId: { type: "string" },
          itemId: { type: "string", description: "The message or command that it belongs to." },
          turnId: { type: ["string", "null"] },
          kind: { type: "string", description: "message, thought or output." },
          text: { type: "string" },
          offset: {
            type: "integer",
            description: "Where the text belongs in the item; 0 starts the item again.",
          },
        },
        required: ["sessionId", "itemId", "turnId", "kind", "text", "offset"],
      },
      { title: "record", ...publishResult(SessionRecord) },
      {
        title: "resync",
        type: "object",
        properties: { sessionId: { type: "string" } },
        required: ["sessionId"],
      },
    ],
  },
  ChangeEvent: {
    description:
      "The data of an event about the organization. changed: read this record again. resync: read everything again.",
    type: "object",
    properties: {
      type: { type: "string", enum: ["changed", "resync"] },
      record: { type: "string", enum: ["instance", "session", "request"] },
      id: { type: "string" },
    },
    required: ["type"],
  },
  AcceptedDelivery: {
    type: "object",
    properties: { runId: { type: "string", description: "list_schedule_runs shows the run." } },
    required: ["runId"],
  },
  IgnoredDelivery: {
    type: "object",
    properties: { ignored: { type: "string", description: "Why it starts no run." } },
    required: ["ignored"],
  },
  File: {
    type: "object",
    properties: {
      fileId: { type: "string", description: "Use it in `attachments` of send_prompt." },
      size: { type: "integer", description: "In bytes." },
      mime: { type: "string" },
    },
    required: ["fileId", "size", "mime"],
  },
};

/** The name of the schema of a type of entries: SessionUpdate_tool_call. */
function updateName(name: string): string {
  return `SessionUpdate_${name}`;
}

const streamRefusals = [
  "unauthenticated",
  "forbidden",
  "rate_limited",
  "concurrency_limited",
  "other_person",
  "internal",
  "unavailable",
] as const;

const inPath = (name: string, description: string) => ({
  name,
  in: "path",
  required: true,
  description,
  schema: { type: "string" },
});

export const doorPaths: Record<string, object> = {
  ...signInPaths,
  "/api/events": {
    get: {
      operationId: "follow_events",
      tags: ["sessions"],
      summary: "Follow the changes of an organization, as server-sent events.",
      description:
        "Needs the permission `instances:view` or `sessions:view`. Events have no numbers: each time you connect, read every record that you show once.",
      responses: {
        200: {
          description: "A stream of ChangeEvent, one in each event's data.",
          content: { "text/event-stream": { schema: ref("ChangeEvent") } },
        },
        ...refusalResponses(streamRefusals),
      },
    },
  },
  "/api/sessions/{sessionId}/events": {
    get: {
      operationId: "follow_session",
      tags: ["sessions"],
      summary: "Follow a session, as server-sent events: its log, its record and live text.",
      description:
        "Needs the permission `sessions:view`. To resume, send the last id as Last-Event-ID or as `after`: nothing is missing and nothing comes twice.",
      parameters: [
        inPath("sessionId", "From start_session or list_sessions."),
        {
          name: "after",
          in: "query",
          required: false,
          description: "Begins after this `seq`.",
          schema: { type: "integer", minimum: 0 },
        },
        {
          name: "Last-Event-ID",
          in: "header",
          required: false,
          description: "The same; browsers send it by themselves.",
          schema: { type: "integer", minimum: 0 },
        },
      ],
      responses: {
        200: {
          description: "A stream of SessionStreamEvent, one in each event's data.",
          content: { "text/event-stream": { schema: ref("SessionStreamEvent") } },
        },
        ...refusalResponses([...streamRefusals, "invalid_input", "not_found"]),
      },
    },
  },
  "/api/triggers/{triggerId}": {
    post: {
      operationId: "receive_delivery",
      tags: ["schedules"],
      summary: "Send an event to a trigger.",
      description:
        "Needs no API key: the body is signed with the trigger's secret, by GitHub's X-Hub-Signature-256 or by the headers of Standard Webhooks. At most 1 MiB.",
      security: [],
      parameters: [inPath("triggerId", "From create_trigger, as a part of `address`.")],
      requestBody: { required: true, content: { "application/json": { schema: {} } } },
      responses: {
        200: {
          description: "The event starts no run.",
          content: { "application/json": { schema: ref("IgnoredDelivery") } },
        },
        202: {
          description: "The event starts a run. A repeated delivery gets the run of the first one.",
          content: { "application/json": { schema: ref("AcceptedDelivery") } },
        },
        ...refusalResponses([
          "invalid_input",
          "unauthenticated",
          "payload_too_large",
          "rate_limited",
          "internal",
          "unavailable",
        ]),
      },
    },
  },
  "/api/files": {
    post: {
      operationId: "upload_file",
      tags: ["sessions"],
      summary: "Upload a file for a prompt.",
      description: "Needs the permission `sessions:edit`. At most 16 MiB.",
      parameters: [
        {
          name: "filename",
          in: "query",
          required: false,
          description: "The name to show.",
          schema: { type: "string" },
        },
      ],
      requestBody: {
        required: true,
        content: { "application/octet-stream": { schema: { type: "string", format: "binary" } } },
      },
      responses: {
        201: {
          description: "Stored.",
          content: { "application/json": { schema: ref("File") } },
        },
        ...refusalResponses([
          "unauthenticated",
          "forbidden",
          "payload_too_large",
          "rate_limited",
          "concurrency_limited",
          "other_person",
          "quota_exceeded",
          "internal",
          "unavailable",
        ]),
      },
    },
  },
  "/api/files/{fileId}": {
    get: {
      operationId: "download_file",
      tags: ["sessions"],
      summary: "Download a file that was uploaded.",
      description: "Needs the permission `sessions:view`.",
      parameters: [inPath("fileId", "From POST /api/files.")],
      responses: {
        200: {
          description: "The file.",
          content: { "application/octet-stream": { schema: { type: "string", format: "binary" } } },
        },
        ...refusalResponses([
          "unauthenticated",
          "forbidden",
          "not_found",
          "rate_limited",
          "concurrency_limited",
          "other_person",
          "internal",
          "unavailable",
        ]),
      },
    },
  },
};
