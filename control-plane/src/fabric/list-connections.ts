// Lists the connections of an account on every nats-server, page by page. A list changes while it is
// read: when a connection ends, the ones after it move up, and the next page would skip some.
//
// A server collects all its connections for each page, so pages are large. The list does not say who
// authenticated a connection: with that, a server decodes every token for every page. A connection that
// is not known yet is looked up by its number.
//
// Guarantee: a connection that existed all the time is listed, unless its server is in `cut`.
import { z } from "zod";
import { FabricTimeout, NoResponders, type Fabric } from "./connection.ts";

/** Identifies a connection: the number is unique at its server, and a restarted server has another id. */
export interface ConnectionId {
  serverId: string;
  clientId: number;
}

/** A connection of which NATS has verified the user. */
export interface FabricConnection extends ConnectionId {
  /** The public key it authenticated with. */
  user: string;
}

export interface ListedConnection extends ConnectionId {
  /** The name that the client gave itself. It proves nothing. */
  name: string;
}

export interface ListedConnections {
  listed: ListedConnection[];
  /** The servers that answered. */
  servers: ReadonlySet<string>;
  /** The servers whose list is incomplete: a connection that is missing in it may exist. */
  cut: ReadonlySet<string>;
  /** The servers that did not answer, although a server that did has a route to them. */
  routed: ReadonlySet<string>;
}

type System = Pick<Fabric["system"], "request" | "requestMany">;

const Routes = z.object({
  server: z.object({ id: z.string() }),
  data: z.object({ routes: z.array(z.object({ remote_id: z.string() })).default([]) }),
});

const Page = z.object({
  data: z.object({
    connections: z.array(z.object({ cid: z.number(), name: z.string().default("") })),
  }),
});
type Connections = z.infer<typeof Page>["data"]["connections"];

const Identified = z.object({
  data: z.object({ connections: z.array(z.object({ authorized_user: z.string().default("") })) }),
});

const timeoutMs = 1_000;
/** Time limit for one page: some 6 MB of text. */
const pageTimeoutMs = 5_000;
/** Time limit for one server's list, however many pages it has. */
const longestMs = 10_000;

export async function listConnections(
  system: System,
  account: string,
  pageSize = 16_384,
): Promise<ListedConnections> {
  /** Each page repeats the end of the previous one, which proves that nothing was skipped between them. */
  const repeated = Math.ceil(pageSize / 16);

  async function readPage(serverId: string, offset: number): Promise<Connections> {
    const question = JSON.stringify({ acc: account, sort: "cid", limit: pageSize, offset });
    const options = { timeoutMs: pageTimeoutMs };
    return parse(Page, await system.request(connectionsOf(serverId), question, options)).data
      .connections;
  }

  /** A list is sorted by numbers that only grow. Adds to `read`, which remains if a page is missed. */
  async function readAll(serverId: string, read: Connections): Promise<void> {
    const deadline = performance.now() + longestMs;
    let offset = 0;
    for (let isWhole = false; !isWhole;) {
      if (performance.now() > deadline) throw new FabricTimeout(`The list of ${serverId} is long.`);
      const page = await readPage(serverId, offset);
      const last = read.at(-1)?.cid ?? -1;
      if (offset === 0 || (page.length > 0 && page[0]!.cid <= last)) {
        read.push(...page.filter(({ cid }) => cid > last));
        isWhole = page.length < pageSize;
        offset += pageSize - repeated;
      } else {
        offset = Math.max(0, offset - (pageSize - repeated));
      }
    }
  }

  const answers = await system.requestMany("$SYS.REQ.SERVER.PING.ROUTEZ", "", { timeoutMs });
  const routes = answers.map((answer) => parse(Routes, answer));
  const servers = new Set(routes.map(({ server }) => server.id));
  const remote = routes.flatMap(({ data }) => data.routes.map(({ remote_id }) => remote_id));
  const lists = await Promise.all(
    [...servers].map(async (serverId) => {
      const connections: Connections = [];
      const isCut = await readAll(serverId, connections).then(() => false, isSilence);
      return { serverId, isCut, connections };
    }),
  );
  return {
    listed: lists.flatMap(({ serverId, connections }) =>
      connections.map(({ cid, name }): ListedConnection => ({ serverId, clientId: cid, name })),
    ),
    servers,
    cut: new Set(lists.filter(({ isCut }) => isCut).map(({ serverId }) => serverId)),
    routed: new Set(remote.filter((serverId) => !servers.has(serverId))),
  };
}

/** The connection with its verified user; undefined if it has ended, or its server does not answer. */
export async function identifyConnection(
  system: Pick<System, "request">,
  { serverId, clientId }: ConnectionId,
): Promise<FabricConnection | undefined> {
  const question = JSON.stringify({ cid: clientId, auth: true });
  try {
    const answer = await system.request(connectionsOf(serverId), question, { timeoutMs });
    const [found] = parse(Identified, answer).data.connections;
    return found && { serverId, clientId, user: found.authorized_user };
  } catch (error) {
    isSilence(error);
    return undefined;
  }
}

const connectionsOf = (serverId: string) => `$SYS.REQ.SERVER.${serverId}.CONNZ`;

function parse<Schema extends z.ZodType>(schema: Schema, reply: Uint8Array): z.output<Schema> {
  return schema.parse(JSON.parse(Buffer.from(reply).toString()));
}

/** Throws any error but that of a server that does not answer. */
function isSilence(error: unknown): true {
  if (error instanceof FabricTimeout || error instanceof NoResponders) return true;
  throw error;
}
