// A paired host that uploads and downloads blobs: through the daemon's own client, and with hand-made
// requests that no daemon would send.
import { request as requestHttp, type IncomingMessage } from "node:http";
import { createBlobLane, type BlobLane } from "@hawser/daemon/blobs/lane.ts";
import { createServerClock } from "@hawser/daemon/link/server-clock.ts";
import { blobsPath, makeBlobProof, makeNkey, proofHeader } from "@hawser/host-protocol";
import type { PairReply } from "@hawser/host-protocol";
import type { Caller, Reply } from "./caller.ts";
import { tryPair } from "./deaf-host.ts";

export interface BlobHost {
  instanceId: string;
  lane: BlobLane;
  /** Sends any request and returns the reply, whatever its status. Throws if the server hangs up. */
  ask(method: string, sha256: string, options?: AskOptions): Promise<Reply>;
  /** A valid proof of this host. */
  prove(method: string, sha256: string, at?: number): string;
}

export interface AskOptions {
  /** Headers that are added or replaced; undefined removes one. */
  headers?: Record<string, string | undefined>;
  /** Pieces of the body, written one after the other. */
  body?: Iterable<Buffer> | AsyncIterable<Buffer>;
  /** Closes the connection after the body instead of ending the request. */
  cut?: boolean;
}

/** Registers an instance and pairs a host with it. The host does not connect to the fabric. */
export async function pairBlobHost(caller: Caller, baseUrl: string): Promise<BlobHost> {
  const key = makeNkey("user");
  const { pairingToken } = await caller.create_instance({ name: "blob host" });
  const { instanceId, token } = (await tryPair(baseUrl, pairingToken, key)).body as PairReply;
  const { host } = new URL(baseUrl);
  const prove = (method: string, sha256: string, at = Date.now()) =>
    makeBlobProof(key, { method, host, path: blobsPath + sha256 }, at);
  return {
    instanceId,
    lane: createBlobLane({
      serverUrl: baseUrl,
      key,
      token: () => token,
      clock: createServerClock(),
    }),
    prove,
    ask(method, sha256, options = {}) {
      const headers = {
        authorization: `Bearer ${token}`,
        [proofHeader]: prove(method, sha256),
        ...options.headers,
      };
      return send(new URL(blobsPath + sha256, baseUrl), method, headers, options);
    },
  };
}

function send(
  url: URL,
  method: string,
  headers: Record<string, string | undefined>,
  { body, cut }: AskOptions,
): Promise<Reply> {
  const given = Object.entries(headers).filter(
    (each): each is [string, string] => each[1] !== undefined,
  );
  return new Promise((resolve, reject) => {
    const request = requestHttp(url, {
      method,
      headers: Object.fromEntries(given),
      agent: false,
      signal: AbortSignal.timeout(300_000),
    });
    request.on("error", reject);
    request.on("response", (response) => {
      read(response).then(resolve, reject);
    });
    const write = async () => {
      for await (const piece of body ?? []) {
        if (request.destroyed) return;
        if (!request.write(piece)) await new Promise((go) => request.once("drain", go));
      }
      if (cut) request.destroy(new Error("cut on purpose"));
      else request.end();
    };
    void write();
  });
}

async function read(response: IncomingMessage): Promise<Reply> {
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  const text = Buffer.concat(pieces).toString("latin1");
  const headers = new Headers();
  for (const [name, value] of Object.entries(response.headers)) headers.set(name, String(value));
  let parsed: unknown = text;
  try {
    parsed = JSON.parse(text);
  } catch {
    // A body of bytes is no JSON.
  }
  return { status: response.statusCode!, headers, body: parsed, text };
}
