// What an edge knows of the fabric: the public keys that host tokens are checked with, and a NATS user of
// its own, which can publish that a host was admitted and nothing else. A separate edge reads both from a
// file, so it needs neither the database nor the master key, and cannot sign anything.
import { readFile } from "node:fs/promises";
import {
  edgeAdmittedSubject,
  edgeConnectionName,
  makeNkey,
  nkeyFromSeed,
} from "@hawser/host-protocol";
import { z } from "zod";
import { ConfigError } from "../config.ts";
import type { Log } from "../log.ts";
import { dialAccount } from "./account.ts";
import { encodeClaims, nameInVerifiedToken } from "./claims.ts";
import type { FabricKeys } from "./fabric-keys.ts";
import { hostTokenTrust } from "./host-token.ts";
import { writeNew } from "./init-fabric.ts";

const EdgeIdentity = z.strictObject({
  /** The account of the hosts, and the public keys that may have signed their tokens. */
  accountPublicKey: z.string(),
  hostPublicKeys: z.array(z.string()).min(1),
  /** The edge's own NATS user. */
  user: z.strictObject({ seed: z.string(), token: z.string() }),
});
export type EdgeIdentity = z.infer<typeof EdgeIdentity>;

/** The name in the signed token of every edge. The token of a host has the id of its instance. */
const edgeUserName = "edge";

export function makeEdgeIdentity(keys: FabricKeys): EdgeIdentity {
  const user = makeNkey("user");
  // The file must outlive a rotation that has begun.
  const { nodeSigningSeed } = keys.secondNatsKeys?.stage === "next" ? keys.secondNatsKeys : keys;
  const token = encodeClaims(nkeyFromSeed(nodeSigningSeed), {
    subject: user.publicKey,
    name: edgeUserName,
    issuedAt: Math.floor(Date.now() / 1000),
    grant: {
      type: "user",
      issuer_account: keys.accountPublicKey,
      pub: { allow: [edgeAdmittedSubject] },
      sub: { deny: [">"] },
      allowed_connection_types: ["STANDARD"],
      subs: -1,
      data: -1,
      payload: -1,
    },
  });
  return { ...hostTokenTrust(keys), user: { seed: user.seed, token } };
}

/** Throws a ConfigError if the file exists. */
export async function writeEdgeFile(file: string, identity: EdgeIdentity): Promise<void> {
  const text = `${JSON.stringify(identity, undefined, 2)}\n`;
  await writeNew(file, text);
}

export async function readEdgeFile(file: string): Promise<EdgeIdentity> {
  try {
    return EdgeIdentity.parse(JSON.parse(await readFile(file, "utf8")));
  } catch (cause) {
    throw new ConfigError(
      `The edge file ${file} cannot be read. Make one on a node with: hawser-control-plane edge-file --out FILE`,
      { cause },
    );
  }
}

export interface EdgeConnection {
  /** Reports a host that is about to connect. The report may be lost. */
  announce: (publicKey: string) => void;
  /** Connects again, as the user that `user` returns now. */
  reconnect: () => Promise<void>;
  close: () => Promise<void>;
}

/** Connects an edge to NATS. The end of this connection shows the nodes that the edge has died. */
export async function connectEdge(options: {
  user: () => EdgeIdentity["user"];
  urls: string[];
  edgeId: string;
  log: Log;
}): Promise<EdgeConnection> {
  const { user, urls, edgeId, log } = options;
  const connection = await dialAccount({
    urls,
    name: edgeConnectionName(edgeId),
    log,
    user() {
      const { seed, token } = user();
      return { key: nkeyFromSeed(seed), token };
    },
    onChange: () => {},
  });
  return {
    announce: (publicKey) =>
      connection.publish(edgeAdmittedSubject, JSON.stringify({ publicKey, edgeId })),
    reconnect: connection.reconnect,
    close: connection.close,
  };
}

/**
 * The edge whose own connection this is; undefined for any other connection. Every client chooses the
 * name of its connection, so the signed token must say that it is an edge.
 */
export function edgeOfConnection(client: { name: string; jwt: string }): string | undefined {
  const [, edgeId] = /^edge\.(.+)$/.exec(client.name) ?? [];
  return edgeId && nameInVerifiedToken(client.jwt) === edgeUserName ? edgeId : undefined;
}
