// The routes of one product on one port: REST, MCP, the OpenAPI document, and health. Knows a registry
// and a dispatcher, and not what the actions are about.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Refusal, type Actions } from "@hawser/contract";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import { keysOnly, type ReadCredentials } from "./credentials.ts";
import { createBodyLimit } from "./json-body.ts";
import type { Guide } from "./mcp/guide.ts";
import { mcpTransport } from "./mcp/transport.ts";
import { openApiDocument, type Description } from "./openapi.ts";
import { respond, restTransport } from "./rest.ts";

export interface Product {
  /** The title and version of the published interface. */
  title: string;
  version: string;
  summary: string;
  /** The name the MCP server gives itself. */
  name: string;
  actions: Actions;
  /** Groups of actions that the MCP server offers only to clients that select them. */
  groupsOnRequest: readonly string[];
  /** What the OpenAPI document contains beside the actions. */
  described: Pick<Description, "groups" | "examples" | "paths" | "schemas">;
  /** What the MCP server offers beside tools. */
  guide: Guide;
}

export interface Routes {
  product: Product;
  dispatcher: Dispatcher;
  /** By default only keys count. */
  credentialsOf?: ReadCredentials;
  baseUrl: string;
  /** Further routes of the product. */
  more?: Hono[];
  /** Why the node should receive no traffic now; undefined if it should. */
  unready: () => Promise<string | undefined>;
  /** The time in the Date header, by which hosts set their clocks. */
  now?: () => number;
}

export function createHttpServer({
  product,
  dispatcher,
  credentialsOf = keysOnly,
  baseUrl,
  more = [],
  unready,
  now = Date.now,
}: Routes): Server {
  const app = new Hono();
  const { title, version, summary } = product;
  const description = openApiDocument(product.actions, {
    title,
    version,
    summary,
    baseUrl,
    ...product.described,
  });
  app.get("/healthz", (c) => c.text("ok\n"));
  app.get("/readyz", async (c) => {
    const reason = await unready();
    return reason === undefined ? c.text("ready\n") : c.text(`${reason}\n`, 503);
  });
  app.get("/api/openapi.json", (c) => c.json(description));
  const bodies = createBodyLimit();
  app.route("/", restTransport(dispatcher, bodies, credentialsOf));
  app.route("/", mcpTransport(dispatcher, bodies, { ...product, baseUrl }));
  for (const routes of more) app.route("/", routes);
  app.notFound((c) =>
    respond(c, {
      refusal: new Refusal(
        "unknown_path",
        "Nothing is served at this path. GET /api/openapi.json lists the paths.",
      ),
    }),
  );
  const listener = getRequestListener(app.fetch);
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    response.once("close", () => endIfUnread(request));
    response.setHeader("Date", new Date(now()).toUTCString());
    void listener(request, response);
  };
  // Only a WebSocket upgrade is for the edge; other upgrade offers are ordinary requests.
  const server = createServer(
    { shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket" },
    serve,
  );
  // A route asks the sender to begin once it wants the body.
  server.on("checkContinue", serve);
  server.requestTimeout = longestRequestMs;
  server.headersTimeout = 15_000;
  return server;
}

/** A last limit: routes that read a body have their own deadline, which is shorter. */
const longestRequestMs = 600_000;
/** How long the rest of a body is read after the answer. */
const lingerMs = 1_000;

/** A client that was answered must not hold a socket with a body that it never finishes. */
function endIfUnread(request: IncomingMessage): void {
  if (request.complete) return;
  setTimeout(() => {
    if (!request.complete) request.destroy();
  }, lingerMs).unref();
}
