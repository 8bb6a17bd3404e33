// MCP: each action that a key may call is one tool. Stateless: every request is authorized separately
// and answered by a new server object, so any node can answer any request.
import { Refusal, errorBody, type Action } from "@hawser/contract";
import {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  createMcpHandler,
  type CallToolResult,
  type Tool,
} from "@modelcontextprotocol/server";
import type { HttpBindings } from "@hono/node-server";
import { Hono } from "hono";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import { publishedSchemas } from "../dispatch/published-schema.ts";
import { readJsonBody } from "./json-body.ts";
import type { OpenLimit } from "./open-limit.ts";
import { callId, respond } from "./rest.ts";

/** The field with the idempotency key of a tool call. */
const idempotencyMeta = "hawser/idempotencyKey";

export interface McpSettings {
  name: string;
  version: string;
  /** The only origin a browser may call from, and the only host name served here. */
  baseUrl: string;
}

export function mcpTransport(
  dispatcher: Dispatcher,
  bodies: OpenLimit,
  { name, version, baseUrl }: McpSettings,
): Hono {
  const app = new Hono();
  const { host, origin } = new URL(baseUrl);

  app.all("/api/mcp", async (c) => {
    // A page that makes its own name resolve to this address must not reach it through a visitor's
    // browser.
    const from = c.req.header("origin");
    if (c.req.header("host") !== host || (from !== undefined && from !== origin)) {
      return respond(c, {
        refusal: new Refusal(
          "forbidden",
          `This server answers only as ${host}, and to pages of ${origin}.`,
        ),
      });
    }
    const authorization = c.req.header("authorization");
    const identified = await dispatcher.identify(authorization);
    if ("refusal" in identified) return respond(c, identified);
    const handler = createMcpHandler(() => serverFor(authorization, callId(c)));
    if (c.req.method !== "POST") return handler.fetch(c.req.raw);
    try {
      const http = c.env as HttpBindings;
      const hold = bodies.during(http.outgoing, identified.caller);
      const parsedBody = await readJsonBody(http, { hold });
      return await handler.fetch(c.req.raw, { parsedBody });
    } catch (error) {
      if (error instanceof Refusal) return respond(c, { refusal: error });
      throw error;
    }
  });
  return app;

  // oxlint-disable-next-line typescript/no-deprecated -- the class that is not wants tools one by one, in schemas of its own
  function serverFor(authorization: string | undefined, id: string): Server {
    // oxlint-disable-next-line typescript/no-deprecated -- as above
    const server = new Server({ name, version }, { capabilities: { tools: {} } });
    server.setRequestHandler("tools/list", async () => {
      const listing = await dispatcher.list(authorization);
      if ("refusal" in listing) {
        throw new ProtocolError(ProtocolErrorCode.InternalError, listing.refusal.message);
      }
      return { tools: listing.actions.map(({ name, action }) => tool(name, action)) };
    });
    server.setRequestHandler("tools/call", async ({ params }) => {
      const answer = await dispatcher.dispatch(authorization, {
        action: params.name,
        body: () => Promise.resolve(params.arguments ?? {}),
        idempotencyKey: idempotencyKey(params._meta),
        callId: id,
        transport: "mcp",
      });
      if ("result" in answer) return toolResult(answer.result as Record<string, unknown>);
      if (answer.refusal.code === "unknown_action") {
        throw new ProtocolError(
          ProtocolErrorCode.InvalidParams,
          `Unknown tool: ${params.name.slice(0, 100)}`,
        );
      }
      return { ...toolResult(errorBody(answer.refusal)), isError: true };
    });
    return server;
  }
}

function idempotencyKey(meta: Record<string, unknown> | undefined): string | undefined {
  const key = meta?.[idempotencyMeta];
  return key === undefined ? undefined : typeof key === "string" ? key : "";
}

function tool(name: string, action: Action): Tool {
  const { input, result } = publishedSchemas(action);
  return {
    name,
    description: action.details ? `${action.summary} ${action.details}` : action.summary,
    inputSchema: input as Tool["inputSchema"],
    outputSchema: result,
    annotations: {
      readOnlyHint: action.effect === "reads",
      destructiveHint: action.effect === "destroys",
      openWorldHint: action.reach === "host",
    },
  };
}

function toolResult(value: object): CallToolResult {
  return {
    structuredContent: value,
    content: [{ type: "text", text: JSON.stringify(value) }],
  };
}
