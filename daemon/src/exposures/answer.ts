// Answers that the daemon itself gives to requests of a tunnel, and the bodies of requests.
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { describe, type Log } from "../log.ts";

/** Answers one request of a tunnel. */
export type Serve = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

/** The request is refused. Clients get the sentence. */
export class RequestRefused extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** No-op if the client has left. */
export function answerJson(stream: ServerHttp2Stream, status: number, value: unknown): void {
  if (stream.destroyed || stream.headersSent) return;
  stream.respond({
    ":status": status,
    "content-type": "application/json",
    "cache-control": "no-store",
  });
  endWith(stream, JSON.stringify(value));
}

export function answerEmpty(stream: ServerHttp2Stream): void {
  if (stream.destroyed || stream.headersSent) return;
  stream.respond({ ":status": 204, "cache-control": "no-store" }, { endStream: true });
}

/** For the client to read an answer, although it still sends its request. */
const leaveMs = 2_000;

/** Ends an answer. The rest of the request's body is discarded. */
export function endWith(stream: ServerHttp2Stream, text: string): void {
  stream.resume();
  stream.once("finish", () => leaveSoon(stream));
  stream.end(text);
}

/** Discards the rest of the request's body after the answer, for a while. */
export function leaveSoon(stream: ServerHttp2Stream): void {
  if (stream.closed) return;
  stream.resume();
  const late = setTimeout(() => stream.close(constants.NGHTTP2_NO_ERROR), leaveMs);
  late.unref();
  stream.once("close", () => clearTimeout(late));
}

/** opencode's clients show `data.message` of an error; everything else reads `error`. */
export function refuse(stream: ServerHttp2Stream, { status, code, message }: RequestRefused): void {
  answerJson(stream, status, { error: { code, message }, name: "Refused", data: { message } });
}

/** The sentence alone, for a person who looks at the page in a browser. */
export function refuseAsText(stream: ServerHttp2Stream, { status, message }: RequestRefused): void {
  if (stream.destroyed || stream.headersSent) return;
  const headers = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };
  stream.respond({ ":status": status, ...headers });
  endWith(stream, `${message}\n`);
}

/** Answers a request that failed; an answer that has begun is cut. */
export function answerFailure(stream: ServerHttp2Stream, error: unknown, log: Log): void {
  if (stream.destroyed) return;
  if (stream.headersSent) return void stream.destroy(error as Error);
  if (error instanceof RequestRefused) return refuse(stream, error);
  log.warn("a request of an exposure failed", { error: describe(error) });
  refuse(stream, new RequestRefused(500, "internal", "The host could not answer this request."));
}

const bodyMs = 60_000;

/** Throws RequestRefused if the body is too large, late, or no JSON. */
export async function readJson(stream: ServerHttp2Stream, mostBytes: number): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  const late = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), bodyMs);
  try {
    for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
      size += (chunk as Buffer).length;
      if (size > mostBytes) {
        const message = `The body of a request may have ${mostBytes / 2 ** 20} MiB here.`;
        throw new RequestRefused(413, "payload_too_large", message);
      }
      chunks.push(chunk as Buffer);
    }
  } finally {
    clearTimeout(late);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString()) as unknown;
  } catch {
    throw new RequestRefused(400, "invalid_input", "The request's body is no JSON.");
  }
}
