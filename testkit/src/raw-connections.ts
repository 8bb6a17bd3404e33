// Thousands of connections of paired hosts, without daemons and edges: their keys are written to the
// database, and they are connected straight to a nats-server over TCP, where they answer pings.
import { connect, type Socket } from "node:net";
import { parseId } from "@hawser/contract";
import { encodeClaims } from "@hawser/control-plane/fabric/claims.ts";
import { nkeyOf } from "@hawser/control-plane/fabric/fabric-keys.ts";
import { makeNkey, type Nkey } from "@hawser/host-protocol";
import { connectLine } from "./nats-greeting.ts";
import { ownerSql } from "./owner-sql.ts";
import type { World } from "./world.ts";

export interface RawConnections extends Disposable {
  /** Connects more hosts, until there are so many. */
  grow(total: number): Promise<void>;
}

const atOnce = 64;
const patienceMs = 10_000;

export function openRawConnections({ nats, database, organizations }: World): RawConnections {
  const { keys, servers } = nats!;
  const [host, port] = servers[0]!.url.split(":");
  const organizationId = parseId("organization", organizations[0].organizationId);
  const signer = nkeyOf(keys.hostSigningSeed);
  const sockets: Socket[] = [];

  async function insertHosts(count: number): Promise<Nkey[]> {
    const made = Array.from({ length: count }, () => makeNkey("user"));
    await ownerSql(
      database.url,
      `WITH i AS (INSERT INTO instances (organization_id, name, host_key)
                  SELECT $1, 'raw host', key FROM unnest($2::text[]) AS key RETURNING *)
       INSERT INTO host_keys (organization_id, instance_id, public_key, machine_id, token_expires_at)
       SELECT organization_id, instance_id, host_key, 'm', hawser_now() + interval '1 day' FROM i`,
      [organizationId, made.map(({ publicKey }) => publicKey)],
    );
    return made;
  }

  function tokenFor({ publicKey }: Nkey): string {
    const now = Math.floor(Date.now() / 1000);
    return encodeClaims(signer, {
      subject: publicKey,
      name: "raw host",
      issuedAt: now,
      expiresAt: now + 86_400,
      grant: {
        type: "user",
        issuer_account: keys.accountPublicKey,
        subs: -1,
        data: -1,
        payload: -1,
      },
    });
  }

  function open(key: Nkey): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), host);
      sockets.push(socket);
      const late = setTimeout(() => socket.destroy(new Error("NATS is silent.")), patienceMs);
      let greeting: string | undefined = "";
      socket.on("error", reject);
      socket.on("data", (chunk: Buffer) => {
        const text = chunk.toString("latin1");
        if (greeting !== undefined) {
          greeting += text;
          if (!greeting.includes("\r\n")) return;
          const [info] = greeting.split("\r\n");
          socket.write(`${connectLine(info!, key, tokenFor(key), "raw host")}PING\r\n`);
          greeting = undefined;
        } else if (text.includes("-ERR")) {
          socket.destroy(new Error(text));
        } else {
          if (text.includes("PING")) socket.write("PONG\r\n");
          if (!text.includes("PONG")) return;
          clearTimeout(late);
          resolve();
        }
      });
    });
  }

  return {
    async grow(total) {
      const waiting = (await insertHosts(total - sockets.length))[Symbol.iterator]();
      const openNext = async () => {
        for (const key of waiting) await open(key);
      };
      await Promise.all(Array.from({ length: atOnce }, openNext));
    },
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy();
    },
  };
}
