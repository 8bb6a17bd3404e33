// Lists the connections of an account on every nats-server, page by page. A list changes while it is
// read: when a connection ends, the ones after it move up, and the next page would skip some.
//
// Guarantee: a connection that existed all the time is listed, unless its server is in `cut`.
import { z } from "zod";
import { FabricTimeout, NoResponders, type Fabric } from "./connection.ts";

/** A connection as a NATS server reports it. */
export interface FabricConnection {
  serverId: string;
  clientId: number;
  /** The public key it authenticated with. */
  user: string;
  /** The name that the client gave itself. */
  name: string;
}

export interface ListedConnections {
  listed: FabricConnection[];
  /** The servers that answered. */
  servers: ReadonlySet<string>;
  /** The servers whose list is incomplete: a connection that is missing in it may exist. */
  cut: ReadonlySet<string>;
}

const Page = z.object({
  server: z.object({ id: z.string() }),
  data: z.object({
    connections: z.array(
      z.object({
        cid: z.number(),
        authorized_user: z.string().default(""),
        name: z.string().default(""),
      }),
    ),
  }),
});
type Connections = z.infer<typeof Page>["data"]["connections"];

const timeoutMs = 1_000;
/** Time limit for one server's list, however many pages it has. */
const longestMs = 10_000;

export async function listConnections(
  system: Pick<Fabric["system"], "request" | "requestMany">,
  account: string,
  pageSize = 1024,
): Promise<ListedConnections> {
  /** Each page repeats the end of the previous one, which proves that nothing was skipped between them. */
  const repeated = Math.ceil(pageSize / 16);
  const question = (offset: number) =>
    JSON.stringify({ acc: account, auth: true, sort: "cid", limit: pageSize, offset });

  /** The rest of a list, sorted by numbers that only grow; undefined if it cannot be read. */
  async function readOn(serverId: string, first: Connections): Promise<Connections | undefined> {
    const subject = `$SYS.REQ.SERVER.${serverId}.CONNZ`;
    const deadline = performance.now() + longestMs;
    const read = [...first];
    let offset = pageSize - repeated;
    for (let isWhole = first.length < pageSize; !isWhole;) {
      if (performance.now() > deadline) return undefined;
      const { data } = parse(await system.request(subject, question(offset), { timeoutMs }));
      const page = data.connections;
      const last = read.at(-1)!.cid;
      if (offset === 0 || (page.length > 0 && page[0]!.cid <= last)) {
        read.push(...page.filter(({ cid }) => cid > last));
        isWhole = page.length < pageSize;
        offset += pageSize - repeated;
      } else {
        offset = Math.max(0, offset - (pageSize - repeated));
      }
    }
    return read;
  }

  const replies = await system.requestMany("$SYS.REQ.SERVER.PING.CONNZ", question(0), {
    timeoutMs,
  });
  const lists = await Promise.all(
    replies.map(async (reply) => {
      const { server, data } = parse(reply);
      const read = await readOn(server.id, data.connections).catch(unlessSilent);
      return { serverId: server.id, isCut: !read, connections: read ?? data.connections };
    }),
  );
  return {
    listed: lists.flatMap(({ serverId, connections }) =>
      connections.map(({ cid, authorized_user, name }): FabricConnection => ({
        serverId,
        clientId: cid,
        user: authorized_user,
        name,
      })),
    ),
    servers: new Set(lists.map(({ serverId }) => serverId)),
    cut: new Set(lists.filter(({ isCut }) => isCut).map(({ serverId }) => serverId)),
  };
}

function parse(reply: Uint8Array) {
  return Page.parse(JSON.parse(Buffer.from(reply).toString()));
}

function unlessSilent(error: unknown): undefined {
  if (!(error instanceof FabricTimeout || error instanceof NoResponders)) throw error;
}
