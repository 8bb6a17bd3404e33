// A second, tiny product on the same dispatcher and transports: it counts things. It shows that they do not
// depend on coding agents, and gives tests a host that is only a table.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { Refusal, action } from "@hawser/contract";
import { createAuthenticator } from "@hawser/control-plane/access/authenticate.ts";
import { createReadCounts } from "@hawser/control-plane/audit/read-counts.ts";
import { createDispatcher, type Dispatcher } from "@hawser/control-plane/dispatch/dispatcher.ts";
import type { HandlersFor } from "@hawser/control-plane/dispatch/handler.ts";
import { createTokenBuckets } from "@hawser/control-plane/dispatch/token-bucket.ts";
import { createLog } from "@hawser/control-plane/log.ts";
import type { Database } from "@hawser/control-plane/postgres/database.ts";
import { statement } from "@hawser/control-plane/postgres/statement.ts";
import type { Guide } from "@hawser/control-plane/transports/mcp/guide.ts";
import { createHttpServer } from "@hawser/control-plane/transports/serve.ts";
import { z } from "zod";
import { freePort } from "./free-port.ts";
import { ownerSql } from "./owner-sql.ts";

const Name = z.string().min(1).max(20);
const Count = z.strictObject({ name: Name, count: z.int() });

const toyActions = {
  read_count: action({
    summary: "Tell a count.",
    group: "counts",
    permission: "sessions:view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({ name: Name }),
    result: Count,
    refusals: ["not_found"],
  }),
  add_one: action({
    summary: "Add one to a count.",
    group: "counts",
    permission: "sessions:edit",
    effect: "changes",
    reach: "records",
    input: z.strictObject({
      name: Name,
      refuse: z.enum(["queue_full", "turn_running"]).optional(),
      fail: z.boolean().optional(),
    }),
    result: Count,
    refusals: ["queue_full"],
  }),
  add_one_remotely: action({
    summary: "Have a host add one to a count.",
    group: "counts",
    permission: "sessions:edit",
    effect: "changes",
    reach: "host",
    input: z.strictObject({ name: Name }),
    result: Count,
    refusals: ["host_refused"],
  }),
};

const toyGuide: Guide = {
  instructions: "Counts things.",
  prompts: [
    {
      name: "count_up",
      title: "Count up",
      description: "Add one to a count.",
      arguments: [{ name: "what", description: "The name of the count.", required: true }],
      needs: ["add_one"],
      text: ({ what }) => `Add one to ${what}.`,
    },
  ],
  resources: [
    {
      uriTemplate: "toy://counts/{name}",
      name: "count",
      title: "A count",
      description: "A count, as text.",
      mimeType: "text/plain",
      completes: { action: "read_count", shows: "has the whole count" },
      needs: ["read_count"],
      read: async (call, { name }) => JSON.stringify(await call("read_count", { name })),
    },
  ],
};

/** Called with the id of each command for the toy host, while no transaction is open. */
export interface ToyServices {
  askHost: (commandId: string, name: string, signal: AbortSignal) => Promise<void>;
}

const addToCount = statement<{ count: number }>(
  `INSERT INTO toy_counts AS known (organization_id, name, count) VALUES ($1, $2, 1)
   ON CONFLICT (organization_id, name) DO UPDATE SET count = known.count + 1 RETURNING count`,
);
const selectCount = statement<{ count: number }>(
  `SELECT count FROM toy_counts WHERE organization_id = $1 AND name = $2`,
);
const takeFromCount = statement(
  `UPDATE toy_counts SET count = count - 1 WHERE organization_id = $1 AND name = $2`,
);

const toyHandlers: HandlersFor<typeof toyActions, ToyServices> = {
  async read_count({ sql }, { name }) {
    const row = await sql.first(selectCount, sql.organizationId, name);
    if (!row) throw new Refusal("not_found", "Nothing has been counted under this name.");
    return { name, count: row.count };
  },
  async add_one({ sql }, { name, refuse, fail }) {
    const row = await sql.first(addToCount, sql.organizationId, name);
    if (refuse) throw new Refusal(refuse, "Refused after the effect, which must be undone.");
    if (fail) throw new Error("failed after the effect, which must be undone");
    return { name, count: row!.count };
  },
  add_one_remotely: {
    async prepare({ sql }, { name }) {
      await sql.rows(addToCount, sql.organizationId, `intended ${name}`);
      return { name };
    },
    ask: ({ commandId, askHost, signal }, { name }) => askHost(commandId, name, signal),
    async conclude({ sql }, { name }) {
      const row = await sql.first(addToCount, sql.organizationId, name);
      return { name, count: row!.count };
    },
    async undo({ sql }, { name }) {
      await sql.rows(takeFromCount, sql.organizationId, `intended ${name}`);
    },
  },
};

/** A later version: read_count has a new field. */
const newerActions = {
  ...toyActions,
  read_count: action({
    ...toyActions.read_count,
    result: z.strictObject({ ...Count.shape, since: z.string() }),
  }),
};
const newerHandlers: HandlersFor<typeof newerActions, ToyServices> = {
  ...toyHandlers,
  async read_count({ sql }, { name }) {
    const row = await sql.first(selectCount, sql.organizationId, name);
    return { name, count: row!.count, since: "today" };
  },
};

/** The table of the toy's counts, under the same row-level security as every tenant table. */
export async function createToyTables(databaseUrl: string): Promise<void> {
  await ownerSql(
    databaseUrl,
    `CREATE TABLE toy_counts (
       organization_id uuid NOT NULL, name text NOT NULL, count int NOT NULL,
       PRIMARY KEY (organization_id, name));
     ALTER TABLE toy_counts ENABLE ROW LEVEL SECURITY;
     CREATE POLICY tenant ON toy_counts TO hawser_app USING (organization_id = hawser_organization());
     GRANT SELECT, INSERT, UPDATE ON toy_counts TO hawser_app;`,
  );
}

export interface ToyProduct extends AsyncDisposable {
  baseUrl: string;
  dispatcher: Dispatcher;
}

interface ToyOptions {
  database: Database;
  /** Shared by the nodes of one service. */
  pepper?: Buffer;
  askHost?: ToyServices["askHost"];
  leaseSeconds?: number;
  deadlineMs?: number;
  /** Serves the later version. */
  isNewer?: boolean;
  /** How many calls a key has; it gets no more. */
  calls?: number;
}

/** A node that serves the toy product instead of the coding one. */
export async function startToyProduct(options: ToyOptions): Promise<ToyProduct> {
  const {
    database,
    askHost = () => Promise.resolve(),
    leaseSeconds = 10,
    deadlineMs = 10_000,
  } = options;
  const authenticator = createAuthenticator(database.system);
  const services: ToyServices = { askHost };
  const actions = options.isNewer ? newerActions : toyActions;
  const dispatcher = createDispatcher({
    actions,
    handlers: options.isNewer ? newerHandlers : toyHandlers,
    services,
    database,
    authenticate: ({ authorization }, options) =>
      authenticator.authenticate(authorization, options),
    buckets: createTokenBuckets(
      options.calls === undefined
        ? { perSecond: 10_000, burst: 10_000 }
        : { perSecond: 0.001, burst: options.calls },
    ),
    pepper: options.pepper ?? randomBytes(32),
    readCounts: createReadCounts(database.system),
    log: createLog("silent"),
    observe: () => {},
    leaseSeconds,
    deadlineMs,
  });
  const product = {
    title: "Toy API",
    version: "3.2.1",
    summary: "Counts things.",
    name: "toy",
    actions,
    groupsOnRequest: [],
    described: { groups: { counts: "Counts." }, examples: {}, paths: {}, schemas: {} },
    guide: toyGuide,
  };
  // The address must be known before the server is created, because MCP checks the request's host name.
  const port = await freePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const server = createHttpServer({
    product,
    dispatcher,
    baseUrl,
    unready: () => Promise.resolve(undefined),
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    baseUrl,
    dispatcher,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
