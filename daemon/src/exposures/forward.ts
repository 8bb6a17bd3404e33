// Forwards one request of a tunnel to a server on this host's loopback address. Only the headers that are given
// here reach the server, and only those of a list leave it.
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import { connect, type Socket } from "node:net";
import { pipeline } from "node:stream/promises";
import { answerJson, RequestRefused } from "./answer.ts";

/** A server on 127.0.0.1. */
export interface Upstream {
  port: number;
  /** Whether the server that is meant still has the port. Checked before a byte is sent. */
  isListening(): boolean;
}

export interface ForwardedRequest {
  method: string;
  /** With the query. */
  path: string;
  headers: Record<string, string>;
}

/** What becomes of an answer: it is passed on as it comes, through a filter, or changed as a whole. */
export type Passing =
  | { type: "unchanged" }
  | { type: "filtered"; through: (source: AsyncIterable<Buffer>) => AsyncIterable<Buffer> }
  | { type: "changed"; change: (value: unknown) => unknown };

const connectMs = 5_000;
const answerMs = 60_000;
/** For an answer that is changed as a whole. */
const largestAnswer = 32 * 2 ** 20;

/** Cookies, redirects to elsewhere, and permissions for service workers are not among them. */
const answerHeaders = [
  "accept-ranges",
  "cache-control",
  "content-range",
  "content-security-policy",
  "content-type",
  "etag",
  "last-modified",
  "x-accel-buffering",
  "x-content-type-options",
  "x-next-cursor",
];

/** Resolves when the answer has ended. Throws RequestRefused before it has begun. */
export async function forward(
  stream: ServerHttp2Stream,
  upstream: Upstream,
  wanted: ForwardedRequest,
  passing: Passing,
): Promise<void> {
  const leaving = new AbortController();
  stream.once("close", () => leaving.abort());
  if (stream.destroyed) return;
  let socket: Socket | undefined;
  try {
    socket = await connectTo(upstream, leaving.signal);
    const answer = await send(socket, wanted, leaving.signal);
    await pass(stream, answer, passing);
  } catch (error) {
    if (stream.destroyed) return;
    if (stream.headersSent) return void stream.destroy(error as Error);
    throw error instanceof RequestRefused ? error : gone();
  } finally {
    socket?.destroy();
  }
}

export const gone = () =>
  new RequestRefused(
    502,
    "agent_gone",
    "The server on the host has ended, or does not answer. Try again in a moment; a prompt starts it again.",
  );

async function connectTo(upstream: Upstream, signal: AbortSignal): Promise<Socket> {
  if (!upstream.isListening()) throw gone();
  const socket = await openSocket({ host: "127.0.0.1", port: upstream.port }, signal);
  // Asked again now that there is a connection: the port may have changed hands just before it.
  if (upstream.isListening()) return socket;
  socket.destroy();
  throw gone();
}

/** Throws RequestRefused if the connection is not open in time. */
export async function openSocket(
  to: { host: string; port: number },
  signal: AbortSignal,
): Promise<Socket> {
  const socket = connect({ ...to, noDelay: true });
  const opened = Promise.withResolvers<void>();
  const fail = () => opened.reject(gone());
  const late = setTimeout(fail, connectMs);
  signal.addEventListener("abort", fail, { once: true });
  socket.once("connect", opened.resolve);
  socket.on("error", fail);
  try {
    await opened.promise;
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(late);
    signal.removeEventListener("abort", fail);
  }
}

function send(
  socket: Socket,
  { method, path, headers }: ForwardedRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      method,
      path,
      headers: { ...headers, connection: "close", "accept-encoding": "identity" },
      createConnection: () => socket,
      signal,
    });
    request.setTimeout(answerMs, () => request.destroy());
    request.once("response", (answer) => {
      request.setTimeout(0);
      resolve(answer);
    });
    request.on("error", reject);
    request.end();
  });
}

async function pass(
  stream: ServerHttp2Stream,
  answer: IncomingMessage,
  passing: Passing,
): Promise<void> {
  const { statusCode: status = 502, headers } = answer;
  const isWhole = passing.type === "changed" && status === 200;
  if (isWhole) {
    const value: unknown = JSON.parse(await readAll(answer));
    return answerJson(stream, status, passing.change(value));
  }
  stream.respond({ ":status": status, ...kept(headers, passing) });
  // Ends the server's answer as soon as the client leaves, and reads no more of it than the client does.
  if (passing.type === "filtered" && status === 200) {
    await pipeline(answer, passing.through, stream);
  } else await pipeline(answer, stream);
}

async function readAll(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer) {
    size += (chunk as Buffer).length;
    if (size > largestAnswer) throw gone();
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString();
}

function kept(headers: IncomingHttpHeaders, { type }: Passing): Record<string, string> {
  const names =
    type === "unchanged" ? [...answerHeaders, "content-encoding", "content-length"] : answerHeaders;
  const found = names.flatMap((name) => {
    const value = headers[name];
    return typeof value === "string" ? [[name, value] as const] : [];
  });
  const { location } = headers;
  // A path of the same exposure, and no other host: neither //host nor /\host.
  if (location !== undefined && /^\/(?![/\\])/.test(location)) found.push(["location", location]);
  return Object.fromEntries(found);
}
