// MCP: each action that a key may call is one tool. Stateless: every request is authorized separately
// and answered by a new server object, so any node can answer any request.
import { Refusal, errorBody, type Action, type Actions } from "@hawser/contract";
import {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  createMcpHandler,
  type CallToolResult,
  type McpRequestContext,
} from "@modelcontextprotocol/server";
import type { HttpBindings } from "@hono/node-server";
import { Hono } from "hono";
import type { Answer, Dispatcher } from "../../dispatch/dispatcher.ts";
import { readJsonBody } from "../json-body.ts";
import type { OpenLimit } from "../open-limit.ts";
import { callId, respond } from "../rest.ts";
import { cutToFit, largestResult } from "./cut.ts";
import { valuesIn, type CallAction, type Guide } from "./guide.ts";
import { selectionOf, type Selection } from "./selection.ts";
import { toolOf } from "./tool.ts";

/** Pages of this size fit into a result, even if some of their characters are escaped. */
const largestPage = largestResult - 4_000;
/** The field with the idempotency key of a tool call. */
const idempotencyMeta = "hawser/idempotencyKey";

export interface McpSettings {
  name: string;
  version: string;
  actions: Actions;
  guide: Guide;
  /** The only origin a browser may call from, and the only host name served here. */
  baseUrl: string;
}

/** One request: whose it is, and how it is answered. */
interface Exchange {
  authorization: string | undefined;
  callId: string;
  selection: Selection;
  era: McpRequestContext["era"];
}

export function mcpTransport(
  dispatcher: Dispatcher,
  bodies: OpenLimit,
  { name, version, actions, guide, baseUrl }: McpSettings,
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
    try {
      const selection = selectionOf(c.req.raw, actions);
      const handler = createMcpHandler(({ era }) =>
        serverFor({ authorization, callId: callId(c), selection, era }),
      );
      if (c.req.method !== "POST") return await handler.fetch(c.req.raw);
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
  function serverFor(exchange: Exchange): Server {
    const { selection } = exchange;
    // oxlint-disable-next-line typescript/no-deprecated -- as above
    const server = new Server(
      { name, version },
      {
        capabilities: { tools: {}, prompts: {}, resources: {} },
        instructions: guide.instructions,
      },
    );
    server.setRequestHandler("tools/list", async () => {
      const listing = await dispatcher.list(exchange.authorization);
      if ("refusal" in listing) throw asProtocolError(listing.refusal, exchange);
      const offered = listing.actions.filter(({ name, action }) =>
        selection.includes(name, action),
      );
      return {
        tools: offered.map(({ name, action }) => toolOf(name, action, selection.withResults)),
      };
    });
    server.setRequestHandler("tools/call", ({ params }) =>
      callTool(exchange, params.name, params.arguments ?? {}, idempotencyKey(params._meta)),
    );
    serveGuide(server, exchange);
    return server;
  }

  async function callTool(
    exchange: Exchange,
    tool: string,
    input: Record<string, unknown>,
    key: string | undefined,
  ): Promise<CallToolResult> {
    const action = Object.hasOwn(actions, tool) ? actions[tool] : undefined;
    if (action && !exchange.selection.includes(tool, action)) {
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `The tool ${tool} is not among those that this client selected.`,
      );
    }
    const answer = await dispatch(exchange, tool, action ? limited(action, input) : input, key);
    if ("refusal" in answer && answer.refusal.code === "unknown_action") {
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `Unknown tool: ${tool.slice(0, 100)}`,
      );
    }
    if ("refusal" in answer || !action) return toolResult(exchange, answer);
    return toolResult(exchange, await fittingResult(exchange, tool, action, input, answer.result));
  }

  /** The result, or as much of it as a model should read at once. */
  async function fittingResult(
    exchange: Exchange,
    tool: string,
    action: Action,
    input: Record<string, unknown>,
    result: unknown,
  ): Promise<Answer> {
    const rest = `POST /api/rest/actions/${tool} with the same input returns the whole result.`;
    const cut = cutToFit(result as object, rest);
    if (cut.entries === undefined || action.effect !== "reads" || !("limit" in action.input.shape))
      return { result: cut.value };
    // With a smaller limit, the action itself says where the next page begins.
    const answer = await dispatch(exchange, tool, { ...input, limit: cut.entries });
    if ("refusal" in answer) return answer;
    return { result: cutToFit(answer.result as object, rest).value };
  }

  function dispatch(
    { authorization, callId }: Exchange,
    action: string,
    input: Record<string, unknown>,
    idempotencyKey?: string,
  ): Promise<Answer> {
    return dispatcher.dispatch(authorization, {
      action,
      body: () => Promise.resolve(input),
      idempotencyKey,
      callId,
      transport: "mcp",
    });
  }

  // oxlint-disable-next-line typescript/no-deprecated -- as above
  function serveGuide(server: Server, exchange: Exchange): void {
    const call: CallAction = async (action, input) => {
      const answer = await dispatch(exchange, action, input);
      if ("refusal" in answer) throw asProtocolError(answer.refusal, exchange);
      return answer.result;
    };
    server.setRequestHandler("prompts/list", () => ({
      prompts: guide.prompts.map(({ name, title, description, arguments: named }) => ({
        name,
        title,
        description,
        arguments: [...named],
      })),
    }));
    server.setRequestHandler("prompts/get", ({ params }) => {
      const prompt = guide.prompts.find(({ name }) => name === params.name);
      const values = params.arguments ?? {};
      const missing = prompt?.arguments.find(({ name, required }) => required && !values[name]);
      if (!prompt) throw invalid("There is no prompt of this name.");
      if (missing) throw invalid(`The argument ${missing.name} is missing.`);
      return {
        description: prompt.description,
        messages: [{ role: "user", content: { type: "text", text: prompt.text(values) } }],
      };
    });
    server.setRequestHandler("resources/list", () => ({ resources: [] }));
    server.setRequestHandler("resources/templates/list", () => ({
      resourceTemplates: guide.resources.map(
        ({ uriTemplate, name, title, description, mimeType }) => ({
          uriTemplate,
          name,
          title,
          description,
          mimeType,
        }),
      ),
    }));
    server.setRequestHandler("resources/read", async ({ params: { uri } }) => {
      for (const resource of guide.resources) {
        const values = valuesIn(uri, resource.uriTemplate);
        if (!values) continue;
        const text = await resource.read(call, values);
        return { contents: [{ uri, mimeType: resource.mimeType, text }] };
      }
      throw invalid("There is no resource at this address.");
    });
  }
}

/** The input with a page that is small enough, if the action has pages of a size. */
function limited({ input: { shape } }: Action, input: Record<string, unknown>) {
  if (!("maxBytes" in shape)) return input;
  const { maxBytes = largestPage } = input;
  const isLarger = typeof maxBytes === "number" && maxBytes > largestPage;
  return { ...input, maxBytes: isLarger ? largestPage : maxBytes };
}

const invalid = (message: string) => new ProtocolError(ProtocolErrorCode.InvalidParams, message);

function asProtocolError(refusal: Refusal, { callId }: Exchange): ProtocolError {
  return new ProtocolError(
    refusal.code === "not_found"
      ? ProtocolErrorCode.InvalidParams
      : ProtocolErrorCode.InternalError,
    refusal.message,
    errorBody(refusal, callId).error,
  );
}

function idempotencyKey(meta: Record<string, unknown> | undefined): string | undefined {
  const key = meta?.[idempotencyMeta];
  return key === undefined ? undefined : typeof key === "string" ? key : "";
}

/**
 * An answer as a tool's result. Clients of the protocol of 2026 get a result once. Earlier clients may read
 * only the text, so they get it too; and so do all clients for refusals, because some show a model only the
 * text of those.
 */
function toolResult({ era, callId }: Exchange, answer: Answer): CallToolResult {
  const value = "result" in answer ? (answer.result as object) : errorBody(answer.refusal, callId);
  return {
    structuredContent: value,
    content:
      era === "legacy" || "refusal" in answer
        ? [{ type: "text", text: JSON.stringify(value) }]
        : [],
    ...("refusal" in answer && { isError: true }),
  };
}
