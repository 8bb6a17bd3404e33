// Transfers what is too large for a message: PUT and GET of blobs over HTTP, each named by the SHA-256 of its
// bytes and proven by the host's key. Failures are retried; repeating a transfer is harmless, because the
// name is the content.
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createReadStream, createWriteStream, renameSync, rmSync, statSync } from "node:fs";
import { request as requestHttp, type ClientRequest, type IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import {
  blobsPath,
  largestBlob,
  makeBlobProof,
  proofHeader,
  type Nkey,
} from "@hawser/host-protocol";
import { backOff } from "../link/back-off.ts";
import type { ServerClock } from "../link/server-clock.ts";
import { pause } from "../pause.ts";

export interface LaneOptions {
  serverUrl: string;
  key: Nkey;
  /** Read at each use, because a renewal may have replaced it. */
  token: () => string;
  clock: ServerClock;
}

export interface Patience {
  /** How long to retry. */
  deadlineMs: number;
  signal: AbortSignal;
}

export interface BlobLane {
  /** Uploads a buffer or the file at a path; returns the name of its bytes. */
  put(source: string | Buffer, patience: Patience): Promise<{ sha256: string; size: number }>;
  /** Downloads into a file, which is complete and correct when this returns, and absent if it throws. */
  get(sha256: string, path: string, patience: Patience): Promise<{ size: number }>;
}

/** The control plane refused the blob, and would refuse it again. */
export class BlobRefused extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

const final = ["invalid_input", "payload_too_large", "quota_exceeded", "not_found"];
const retry = { firstMs: 250, longestMs: 15_000 };
/** One attempt with the largest blob over the slowest line that the control plane waits for. */
const longestTryMs = 600_000;
/** A proxy may drop the question whether to send the body; then it is sent without an answer. */
const continuePatienceMs = 2_000;

export function createBlobLane({ serverUrl, key, token, clock }: LaneOptions): BlobLane {
  const origin = new URL(serverUrl);
  const open = origin.protocol === "https:" ? requestHttps : requestHttp;

  function ask(
    method: "GET" | "PUT",
    sha256: string,
    headers: Record<string, string | number>,
    signal: AbortSignal,
  ): ClientRequest {
    const path = blobsPath + sha256;
    const proof = makeBlobProof(key, { method, host: origin.host, path }, Math.round(clock.now()));
    return open(new URL(path, origin), {
      method,
      headers: { ...headers, authorization: `Bearer ${token()}`, [proofHeader]: proof },
      signal,
      // A connection whose body was not read to the end cannot be used again.
      agent: false,
    });
  }

  async function answered(request: ClientRequest): Promise<IncomingMessage> {
    const [response] = (await once(request, "response")) as [IncomingMessage];
    clock.learn(response.headers.date);
    return response;
  }

  return {
    async put(source, patience) {
      const size = typeof source === "string" ? statSync(source).size : source.length;
      if (size > largestBlob)
        throw new BlobRefused("payload_too_large", "A blob has at most 64 MiB.");
      // Nobody else listens once the request is over: an error of the file at that moment would end the
      // daemon.
      const bytes = () =>
        (typeof source === "string" ? createReadStream(source) : Readable.from([source])).on(
          "error",
          () => {},
        );
      const hash = createHash("sha256");
      for await (const piece of bytes()) hash.update(piece as Buffer);
      const sha256 = hash.digest("hex");
      await persist(patience, async (signal) => {
        const headers = { "content-length": size, expect: "100-continue" };
        const request = ask("PUT", sha256, headers, signal);
        const response = answered(request);
        response.catch(() => {});
        request.flushHeaders();
        const go = await Promise.race([
          once(request, "continue", { signal }),
          response,
          pause(continuePatienceMs, signal),
        ]);
        // An answer that arrives during the upload counts, whatever becomes of the remaining bytes.
        if (!isResponse(go)) pipeline(bytes(), request).catch(() => {});
        try {
          await refuseUnless([200, 201], await response);
        } finally {
          request.destroy();
        }
      });
      return { sha256, size };
    },
    async get(sha256, path, patience) {
      const part = `${path}.part`;
      return persist(patience, async (signal) => {
        const request = ask("GET", sha256, {}, signal);
        request.end();
        try {
          const response = await answered(request);
          await refuseUnless([200], response);
          const size = await save(response, sha256, part, signal);
          renameSync(part, path);
          return { size };
        } finally {
          request.destroy();
          rmSync(part, { force: true });
        }
      });
    },
  };
}

const isResponse = (value: unknown): value is IncomingMessage =>
  typeof (value as { statusCode?: unknown } | undefined)?.statusCode === "number";

async function save(
  response: IncomingMessage,
  sha256: string,
  path: string,
  signal: AbortSignal,
): Promise<number> {
  const hash = createHash("sha256");
  let size = 0;
  async function* checked(pieces: AsyncIterable<Buffer>) {
    for await (const piece of pieces) {
      size += piece.length;
      if (size > largestBlob) throw new Error("The blob has more bytes than a blob may have.");
      hash.update(piece);
      yield piece;
    }
  }
  await pipeline(response, checked, createWriteStream(path, { mode: 0o600, flush: true }), {
    signal,
  });
  if (hash.digest("hex") !== sha256) throw new Error("The bytes do not have the hash of the blob.");
  return size;
}

async function refuseUnless(wanted: number[], response: IncomingMessage): Promise<void> {
  const { statusCode = 0 } = response;
  if (wanted.includes(statusCode)) return;
  let text = "";
  for await (const piece of response.setEncoding("utf8")) {
    text += piece;
    if (text.length > 10_000) break;
  }
  const { code, message } = errorIn(text);
  // 413 often comes from a proxy, which does not use our error codes.
  if (statusCode === 413) throw new BlobRefused("payload_too_large", message ?? "It is too large.");
  if (code !== undefined && final.includes(code)) throw new BlobRefused(code, message ?? code);
  throw new Error(message ?? `The control plane gave an unexpected answer (${statusCode}).`);
}

function errorIn(text: string): { code?: string; message?: string } {
  try {
    return (JSON.parse(text) as { error?: { code?: string; message?: string } }).error ?? {};
  } catch {
    return {};
  }
}

async function persist<Value>(
  { deadlineMs, signal }: Patience,
  attempt: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const over = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]);
  for (let failures = 1; ; failures++) {
    try {
      over.throwIfAborted();
      return await attempt(AbortSignal.any([over, AbortSignal.timeout(longestTryMs)]));
    } catch (error) {
      if (error instanceof BlobRefused || over.aborted) throw error;
      await pause(backOff(failures, retry), over);
      if (over.aborted) throw error;
    }
  }
}
