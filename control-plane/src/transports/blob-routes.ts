// PUT and GET /api/hosts/blobs/{sha256}: data that hosts send and fetch and that is too large for a
// message. Bytes are passed on as they arrive, with backpressure; only hosts that prove their identity
// are served.
import type { IncomingMessage } from "node:http";
import { Refusal } from "@hawser/contract";
import { blobsPath, isBlobProofGood, largestBlob } from "@hawser/host-protocol";
import type { HttpBindings } from "@hono/node-server";
import { Hono, type Context } from "hono";
import type { Blobs } from "../blobs/blobs.ts";
import { proveHost } from "../fabric/host-proof.ts";
import type { HostTokens } from "../fabric/host-token.ts";
import type { Log } from "../log.ts";
import { answerHost } from "./host-routes.ts";
import { respond } from "./rest.ts";
import { afterBody, bodyOf, createGate, streamOf } from "./transfers.ts";

export interface BlobDoors {
  blobs: Blobs;
  tokens: Pick<HostTokens, "read">;
  now: () => number;
  /** The organization of the host with this key; undefined if the key is unknown or revoked. */
  organizationOf: (publicKey: string) => Promise<string | undefined>;
  log: Log;
}

export function blobRoutes({ blobs, tokens, now: clock, organizationOf, log }: BlobDoors): Hono {
  const app = new Hono();
  const gate = createGate({ most: 32, mostOfOne: 10, what: "blobs" });
  const path = `${blobsPath}:sha256`;

  async function admit({ incoming }: HttpBindings) {
    const { method = "", url = "" } = incoming;
    const host = proveHost(incoming, tokens, clock(), (publicKey, name, proof, now) =>
      isBlobProofGood(publicKey, { method, host: name, path: url }, proof, now),
    );
    if (host instanceof Refusal) throw host;
    const organizationId = await organizationOf(host.publicKey);
    if (!organizationId) {
      throw new Refusal("forbidden", "This host is no longer paired. Pair it again to use it.");
    }
    return { ...host, organizationId };
  }

  async function put(c: Context) {
    const http = c.env as HttpBindings;
    const { publicKey, organizationId } = await admit(http);
    const sha256 = nameIn(c);
    const size = announcedSize(http.incoming);
    const leave = gate.enter(publicKey);
    try {
      const body = () => bodyOf(http, size);
      const { created } = await blobs.put({ organizationId, publicKey, sha256, size, body });
      return c.json({ sha256, size }, created ? 201 : 200);
    } finally {
      leave();
    }
  }

  app.put(path, (c) => answerHost(c, log, () => afterBody(c.env as HttpBindings, () => put(c))));

  app.get(path, (c) =>
    answerHost(c, log, async () => {
      const { publicKey, organizationId } = await admit(c.env as HttpBindings);
      const blob = await blobs.read(organizationId, nameIn(c));
      const leave = gate.enter(publicKey);
      return c.body(streamOf(blob, leave, log), 200, {
        "Content-Length": String(blob.size),
        // The bytes are untrusted: no browser may interpret them.
        "Content-Type": "application/octet-stream",
        "Content-Disposition": "attachment",
        "X-Content-Type-Options": "nosniff",
      });
    }),
  );

  app.all(path, (c) => {
    c.header("Allow", "GET, PUT");
    return respond(c, {
      refusal: new Refusal("method_not_allowed", "Only GET and PUT are served at this path."),
    });
  });
  return app;
}

function nameIn(c: Context): string {
  const name = c.req.param("sha256") ?? "";
  if (/^[0-9a-f]{64}$/.test(name)) return name;
  throw new Refusal(
    "invalid_input",
    "A blob is named by its SHA-256: 64 hexadecimal digits in lower case.",
  );
}

function announcedSize({ headers }: IncomingMessage): number {
  const size = Number(headers["content-length"]);
  if (headers["content-length"] === undefined) {
    throw new Refusal(
      "invalid_input",
      "The length must be known before the body comes: send Content-Length.",
    );
  }
  if (size <= largestBlob) return size;
  throw new Refusal("payload_too_large", "The blob is larger than 64 MiB.");
}
