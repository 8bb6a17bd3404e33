// The bare engine that the product is compared with: node:http and the driver's pool, one named prepared
// statement as the owner of the tables, its rows as JSON. No key, no checks, no row-level security.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import pg from "pg";

export interface BareStatement {
  databaseUrl: string;
  connections: number;
  name: string;
  text: string;
  values: unknown[];
}

async function serve({ databaseUrl, connections, ...query }: BareStatement): Promise<number> {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: connections,
    // The same plans on both sides: without this the bare side would plan listings at each call.
    options: "-c plan_cache_mode=force_generic_plan",
  });
  const server = createServer((_request, response) => {
    pool.query(query).then(
      ({ rows }) =>
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(rows)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

process.once("message", (statement: BareStatement) => {
  serve(statement).then(
    (port) => process.send!({ result: `http://127.0.0.1:${port}` }),
    (error: unknown) => process.send!({ error: String(error) }),
  );
});
process.on("disconnect", () => process.exit());
