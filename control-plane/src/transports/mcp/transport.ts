// MCP: each action that a key may call is one tool. Stateless: every request is authorized separately
// and answered by a new server object, so any node can answer any request.
import { Refusal, errorBody, type Action, type Actions } from "@hawser/contract";
import {
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
import { sentOnce, sentTwice } from "./cut.ts";
import { fittingAnswer, withSmallPage, type ToolCall } from "./fitting.ts";
import { addressOf, type Guide } from "./guide.ts";
import { isObject, messagesIn, type Message } from "./messages.ts";
import { ModelServer, asProtocolError, invalid } from "./model-server.ts";
import { selectionOf, type Selection } from "./selection.ts";
import { refuseCursor, serveGuide, type GuideAccess } from "./serve-guide.ts";
import { toolOf } from "./tool.ts";

/** Methods whose handlers list what the key may call, which counts as a call. */
const selfCounting: ReadonlySet<unknown> = new Set([
  "tools/list",
  "prompts/list",
  "resources/templates/list",
]);
/** The field with the idempotency key of a tool call. */
const idempotencyMeta = "hawser/idempotencyKey";

export interface McpSettings {
  name: string;
  version: string;
  actions: Actions;
  /** Groups of actions that are offered only to clients that select them. */
  groupsOnRequest: readonly string[];
  guide: Guide;
  /** The only origin a browser may call from, and the only host name served here. */
  baseUrl: string;
}

/** One request: whose it is, and how it is answered. */
interface Exchange {
  /** A browser's sign-in does not count here (N24). */
  authorization: string | undefined;
  callId: string;
  selection: Selection;
  era: McpRequestContext["era"];
}

export function mcpTransport(
  dispatcher: Dispatcher,
  bodies: OpenLimit,
  { name, version, actions, groupsOnRequest, guide, baseUrl }: McpSettings,
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
    const identified = await dispatcher.identify({ authorization });
    if ("refusal" in identified) return respond(c, identified);
    try {
      const selection = selectionOf(c.req.raw, actions, groupsOnRequest);
      const handler = createMcpHandler(({ era }) =>
        serverFor({ authorization, callId: callId(c), selection, era }),
      );
      if (c.req.method !== "POST") return await handler.fetch(c.req.raw);
      const http = c.env as HttpBindings;
      const hold = bodies.during(http.outgoing, identified.caller);
      const parsedBody = await readJsonBody(http, { hold });
      const counted = messagesIn(parsedBody).filter((each) => !countsItself(each, { selection }));
      const refusal = dispatcher.charge(identified.caller, counted.length);
      if (refusal) return respond(c, { refusal });
      return await handler.fetch(c.req.raw, { parsedBody });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return respond(c, { refusal: dispatcher.charge(identified.caller, 1) ?? error });
    }
  });
  return app;

  function serverFor(exchange: Exchange): ModelServer {
    const { selection } = exchange;
    const server = new ModelServer(
      { name, version },
      {
        capabilities: { tools: {}, prompts: {}, resources: {} },
        instructions: guide.instructions,
      },
    );
    server.setRequestHandler("tools/list", async ({ params }) => {
      refuseCursor(params);
      const open = await openTools(exchange);
      return { tools: open.map(({ name, action }) => toolOf(name, action, selection.withResults)) };
    });
    server.setRequestHandler("tools/call", ({ params }) =>
      callTool(exchange, params.name, params.arguments ?? {}, idempotencyKey(params._meta)),
    );
    serveGuide(server, guide, guideAccess(exchange));
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
      throw invalid(`The tool ${tool} is not among those that this client selected.`);
    }
    const toolCall: ToolCall | undefined = action && {
      tool,
      action,
      input,
      weigh: weighOf(exchange),
      offered: (name) => offered(exchange, name),
      call: (name, input) => dispatch(exchange, name, input),
      resource: resourceFor(exchange, tool, input),
    };
    const answer = await dispatch(exchange, tool, toolCall ? withSmallPage(toolCall) : input, key);
    if ("refusal" in answer && answer.refusal.code === "unknown_action") {
      throw invalid(`Unknown tool: ${tool.slice(0, 100).toWellFormed()}`);
    }
    if ("refusal" in answer || !toolCall) return toolResult(exchange, answer);
    return toolResult(exchange, await fittingAnswer(toolCall, answer.result as object));
  }

  /** The action of a tool; undefined if there is none, or if the client did not select it. */
  function offered({ selection }: Pick<Exchange, "selection">, tool: string): Action | undefined {
    const action = Object.hasOwn(actions, tool) ? actions[tool] : undefined;
    return action && selection.includes(tool, action) ? action : undefined;
  }

  /** The resource that shows what a cut result of a tool leaves out; undefined if there is none for this client. */
  function resourceFor(exchange: Exchange, tool: string, input: Record<string, unknown>) {
    const found = guide.resources.find(({ completes }) => completes.action === tool);
    if (!found?.needs.every((need) => offered(exchange, need))) return undefined;
    const uri = addressOf(found.uriTemplate, input);
    return uri === undefined ? undefined : { uri, shows: found.completes.shows };
  }

  function dispatch(
    { authorization, callId }: Exchange,
    action: string,
    input: Record<string, unknown>,
    idempotencyKey?: string,
  ): Promise<Answer> {
    const call = { action, body: () => Promise.resolve(input), idempotencyKey, callId };
    return dispatcher.dispatch({ authorization }, { ...call, transport: "mcp" });
  }

  /** The tools that the client selected and the key may call. Counts as a call. */
  async function openTools({ authorization, selection, callId }: Exchange) {
    const listing = await dispatcher.list({ authorization });
    if ("refusal" in listing) throw asProtocolError(listing.refusal, callId);
    return listing.actions.filter(({ name, action }) => selection.includes(name, action));
  }

  function guideAccess(exchange: Exchange): GuideAccess {
    return {
      isSelected: (tool) => offered(exchange, tool) !== undefined,
      open: async () => new Set((await openTools(exchange)).map(({ name }) => name)),
      async call(action, input) {
        const answer = await dispatch(exchange, action, input);
        if ("refusal" in answer) throw asProtocolError(answer.refusal, exchange.callId);
        return answer.result;
      },
    };
  }

  /** Whether the handler of a message counts it as a call. Every other message is counted before. */
  function countsItself(
    { method, params }: Message,
    exchange: Pick<Exchange, "selection">,
  ): boolean {
    if (method !== "tools/call") {
      return selfCounting.has(method) && (params === undefined || params.cursor === undefined);
    }
    const { name, arguments: input = {} } = params ?? {};
    return typeof name === "string" && offered(exchange, name) !== undefined && isObject(input);
  }
}

function idempotencyKey(meta: Record<string, unknown> | undefined): string | undefined {
  const key = meta?.[idempotencyMeta];
  return key === undefined ? undefined : typeof key === "string" ? key : "";
}

const isSentTwice = ({ era }: Exchange) => era === "legacy";
const weighOf = (exchange: Exchange) => (isSentTwice(exchange) ? sentTwice : sentOnce);

/**
 * An answer as a tool's result. Clients of the protocol of 2026 get a result once. Earlier clients may read
 * only the text, so they get it too; and so do all clients for refusals, because some show a model only the
 * text of those.
 */
function toolResult(exchange: Exchange, answer: Answer): CallToolResult {
  const { callId } = exchange;
  const value = "result" in answer ? (answer.result as object) : errorBody(answer.refusal, callId);
  return {
    structuredContent: value,
    content:
      isSentTwice(exchange) || "refusal" in answer
        ? [{ type: "text", text: JSON.stringify(value) }]
        : [],
    ...("refusal" in answer && { isError: true }),
  };
}
