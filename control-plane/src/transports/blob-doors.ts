// PUT and GET /api/hosts/blobs/{sha256}: what hosts send and fetch that no message can carry. Bytes are
// passed on as they come, and no faster than they are taken; nobody unproven is listened to.
import type { IncomingMessage } from "node:http";
import { Refusal } from "@hawser/contract";
import { blobsPath, isBlobProofGood, largestBlob } from "@hawser/host-protocol";
import type { HttpBindings } from "@hono/node-server";
import { Hono, type Context } from "hono";
import type { Blob, Blobs } from "../blobs/blobs.ts";
import { proveHost } from "../fabric/host-proof.ts";
import type { HostTokens } from "../fabric/host-token.ts";
import type { Log } from "../log.ts";
import { answerHost } from "./host-doors.ts";
import { respond } from "./rest.ts";

export interface BlobDoors {
  blobs: Blobs;
  tokens: Pick<HostTokens, "read">;
  /** The organization of the host with this key, unless the key is unknown or revoked. */
  organizationOf: (publicKey: string) => Promise<string | undefined>;
  log: Log;
}

/** A transfer may take this long, and so much longer for every byte: 64 MiB have nearly nine minutes. */
const graceMs = 10_000;
const slowestBytesPerMs = 131;

const mostOfNode = 32;
const mostOfHost = 10;

function deadlineOf(size: number): number {
  return graceMs + size / slowestBytesPerMs;
}

export function blobDoors({ blobs, tokens, organizationOf, log }: BlobDoors): Hono {
  const app = new Hono();
  const gate = openGate();
  const path = `${blobsPath}:sha256`;

  async function admit({ incoming }: HttpBindings) {
    const { method = "", url = "" } = incoming;
    const host = proveHost(incoming, tokens, Date.now(), (publicKey, name, proof, now) =>
      isBlobProofGood(publicKey, { method, host: name, path: url }, proof, now),
    );
    if (host instanceof Refusal) throw host;
    const organizationId = await organizationOf(host.publicKey);
    if (!organizationId) {
      throw new Refusal("forbidden", "This host is not paired any more. Pair it again to use it.");
    }
    return { ...host, organizationId };
  }

  app.put(path, (c) =>
    answerHost(c, log, async () => {
      const http = c.env as HttpBindings;
      const { publicKey, organizationId } = await admit(http);
      const sha256 = nameIn(c);
      const size = announcedSize(http.incoming);
      const leave = gate.enter(publicKey);
      try {
        const { created } = await blobs.put({
          organizationId,
          publicKey,
          sha256,
          size,
          body: () => bodyOf(http, size),
        });
        return c.json({ sha256, size }, created ? 201 : 200);
      } finally {
        leave();
      }
    }),
  );

  app.get(path, (c) =>
    answerHost(c, log, async () => {
      const { publicKey, organizationId } = await admit(c.env as HttpBindings);
      const blob = await blobs.read(organizationId, nameIn(c));
      const leave = gate.enter(publicKey);
      return c.body(streamOf(blob, leave, log), 200, {
        "Content-Length": String(blob.size),
        // Bytes of whoever: nobody's browser is to make something of them.
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

/** The pieces of a body as they come; a sender that is too slow is not waited for. */
async function* bodyOf({ incoming, outgoing }: HttpBindings, size: number) {
  // Whoever asked before sending is told to begin only now, when nothing stands against it.
  if (/^100-continue$/i.test(incoming.headers.expect ?? "")) {
    outgoing.writeContinue();
  }
  const deadline = performance.now() + deadlineOf(size);
  // Kept open at the end, so that a refusal can still be answered.
  const pieces = incoming.iterator({ destroyOnReturn: false });
  try {
    for (;;) {
      const next = await before(deadline, pieces.next());
      if (next.done) return;
      yield next.value as Buffer;
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal("invalid_input", "The body ended before it was whole. Send it again.");
  }
}

/** Raced against a promise of its own each time: one for all would hold on to every piece until the end. */
async function before<T>(deadline: number, piece: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(tooSlow()), deadline - performance.now());
  try {
    return await Promise.race([piece, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function tooSlow(): Refusal {
  return new Refusal("invalid_input", "The body came too slowly and was not waited for.");
}

/** Read as it is taken, chunk by chunk; a reader that is too slow is cut. */
function streamOf({ size, chunks }: Blob, leave: () => void, log: Log): ReadableStream<Uint8Array> {
  const source = chunks();
  let timer: NodeJS.Timeout;
  const end = () => {
    clearTimeout(timer);
    leave();
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        timer = setTimeout(() => {
          end();
          controller.error(new Error("The reader was too slow."));
        }, deadlineOf(size));
      },
      async pull(controller) {
        try {
          const { done, value } = await source.next();
          if (!done) return controller.enqueue(value);
          end();
          controller.close();
        } catch (error) {
          log.warn({ err: error }, "a blob could not be read to its end");
          end();
          controller.error(error);
        }
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}

/** How many transfers there may be at once, of one host and of all. */
function openGate() {
  const running = new Map<string, number>();
  let all = 0;
  return {
    enter(publicKey: string): () => void {
      const own = running.get(publicKey) ?? 0;
      if (own >= mostOfHost || all >= mostOfNode) {
        throw new Refusal("rate_limited", "Too many blobs are on their way at once. Try again.", {
          retryAfterMs: 1000,
        });
      }
      running.set(publicKey, own + 1);
      all++;
      let left = false;
      return () => {
        if (left) return;
        left = true;
        all--;
        const rest = running.get(publicKey)! - 1;
        if (rest > 0) running.set(publicKey, rest);
        else running.delete(publicKey);
      };
    },
  };
}
