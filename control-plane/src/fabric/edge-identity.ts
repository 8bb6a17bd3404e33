// What an edge knows of the fabric: the public keys that host tokens are checked with, and a NATS user of
// its own, which can publish that a host was admitted, answer that the edge is alive and what its load is,
// and nothing else. A separate edge reads both from a file, so it needs neither the database nor the master
// key, and cannot sign anything.
import { readFile } from "node:fs/promises";
import { received } from "@hawser/contract";
import {
  edgeAdmittedSubject,
  edgeAliveSubject,
  edgeConnectionName,
  everyEdgeSubject,
  makeNkey,
  nkeyFromSeed,
} from "@hawser/host-protocol";
import { z } from "zod";
import { ConfigError } from "../config.ts";
import type { Log } from "../log.ts";
import { writeNew } from "../replace-file.ts";
import { dialAccount } from "./account.ts";
import { encodeClaims } from "./claims.ts";
import type { FabricKeys } from "./fabric-keys.ts";
import { hostTokenTrust } from "./host-token.ts";
import type { ConnectionId } from "./list-connections.ts";

const EdgeIdentity = z.strictObject({
  /** The account of the hosts, and the public keys that may have signed their tokens. */
  accountPublicKey: z.string(),
  hostPublicKeys: z.array(z.string()).min(1),
  /** The edge's own NATS user. */
  user: z.strictObject({ seed: z.string(), token: z.string() }),
});
export type EdgeIdentity = z.infer<typeof EdgeIdentity>;

const answerWithinNanoseconds = 5e9;

export function makeEdgeIdentity(keys: FabricKeys): EdgeIdentity {
  const user = makeNkey("user");
  // The file must outlive a rotation that has begun.
  const { nodeSigningSeed } = keys.secondNatsKeys?.stage === "next" ? keys.secondNatsKeys : keys;
  const token = encodeClaims(nkeyFromSeed(nodeSigningSeed), {
    subject: user.publicKey,
    name: "edge",
    issuedAt: Math.floor(Date.now() / 1000),
    grant: {
      type: "user",
      issuer_account: keys.accountPublicKey,
      pub: { allow: [edgeAdmittedSubject] },
      // The id of an edge is made at its start, so the token cannot name it.
      sub: { allow: [edgeAliveSubject("*")] },
      resp: { max: 1, ttl: answerWithinNanoseconds },
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
    // A newer version may have written the file.
    return received(EdgeIdentity).parse(JSON.parse(await readFile(file, "utf8")));
  } catch (cause) {
    throw new ConfigError(
      `The edge file ${file} cannot be read. Make one on a node with: hawser-control-plane edge-file --out FILE`,
      { cause },
    );
  }
}

/** A host's connection to NATS, made through an edge. */
export interface AdmittedLink extends ConnectionId {
  /** The host's key, which the edge has checked. */
  publicKey: string;
}

/** How much an edge has to do when all its hosts return. */
export const EdgeLoad = z.object({
  /** The most links that were open in the last minutes. */
  links: z.int().min(0),
  /** Links that the edge can open in a second. */
  perSecond: z.number().positive(),
});
export type EdgeLoad = z.infer<typeof EdgeLoad>;

export interface EdgeConnection {
  /** Reports a host that is about to connect. The report may be lost. */
  announce: (link: AdmittedLink) => void;
  /** Answers nodes that ask all edges for their load. */
  reportLoad: (read: () => EdgeLoad) => void;
  /** Whether the edge is connected to NATS. Hosts that leave while it is not are first shown as moving. */
  isUp: () => boolean;
  /** Connects again, as the user that `user` returns now. */
  reconnect: () => Promise<void>;
  /** From now on no node counts the edge as alive. */
  close: () => Promise<void>;
}

/** Connects an edge to NATS. While it is connected, it answers that it is alive (edge-asker.ts). */
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
  connection.subscribe(edgeAliveSubject(edgeId), {}, ({ respond }) => respond(""));
  await connection.flush();
  return {
    announce: ({ publicKey, serverId, clientId }) =>
      connection.publish(
        edgeAdmittedSubject,
        JSON.stringify({ publicKey, edgeId, serverId, clientId }),
      ),
    reportLoad: (read) =>
      void connection.subscribe(everyEdgeSubject, {}, ({ respond }) =>
        respond(JSON.stringify(read())),
      ),
    isUp: connection.isUp,
    reconnect: connection.reconnect,
    close: connection.close,
  };
}
