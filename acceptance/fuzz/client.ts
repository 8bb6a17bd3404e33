// Sends cases as bytes over kept-alive connections, and returns the answers.
import { Agent, request, type ClientRequest, type IncomingMessage } from "node:http";
import type { Case } from "./cases.ts";

export interface Reply {
  status: number;
  contentType: string;
  text: string;
}

/** The outcome of a case: an answer, the reason why there is none, or that the client hung up. */
export type Outcome = { reply: Reply } | { failure: string } | { hungUp: true };

export interface Client extends Disposable {
  send(sent: Case): Promise<Outcome>;
  /** A GET with the key, for requests beside the cases. */
  get(path: string): Promise<Reply>;
}

const patienceMs = 30_000;

/** How many cases are under way at once. */
export const connections = 8;

export function openClient(baseUrl: string, key: string): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const authorization = `Bearer ${key}`;
  const open = (method: string, path: string, headers: Record<string, string | number> = {}) =>
    request(new URL(path, baseUrl), {
      method,
      agent,
      headers: { authorization, ...headers },
      timeout: patienceMs,
    });
  return {
    async send(sent) {
      const path = `/api/rest/actions/${sent.action}`;
      const outgoing = open("POST", path, headersOf(sent));
      if (sent.unfinished) return hangUp(outgoing, sent.body!);
      if (sent.chunked) {
        const half = sent.body!.length >> 1;
        outgoing.write(sent.body!.subarray(0, half));
        outgoing.write(sent.body!.subarray(half));
      }
      return finish(outgoing, sent.chunked ? undefined : sent.body);
    },
    async get(path) {
      const outcome = await finish(open("GET", path), undefined);
      if ("reply" in outcome) return outcome.reply;
      throw new Error(`GET ${path}: ${JSON.stringify(outcome)}`);
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

function headersOf(sent: Case): Record<string, string | number> {
  const { contentType, contentEncoding, body, chunked, unfinished } = sent;
  const streamed = chunked ?? unfinished === "chunked";
  return {
    ...(contentType !== undefined && { "content-type": contentType }),
    ...(contentEncoding !== undefined && { "content-encoding": contentEncoding }),
    ...(streamed ? { "transfer-encoding": "chunked" } : { "content-length": body?.length ?? 0 }),
  };
}

async function finish(outgoing: ClientRequest, body: Buffer | undefined): Promise<Outcome> {
  return new Promise((resolve) => {
    outgoing.on("response", (response) => void readReply(response).then(resolve));
    outgoing.on("timeout", () => outgoing.destroy(new Error(`no answer in ${patienceMs} ms`)));
    // An answer that came before the whole body was sent counts; only its absence is a failure.
    outgoing.on("error", (error) => resolve({ failure: error.message }));
    outgoing.end(body);
  });
}

async function readReply(response: IncomingMessage): Promise<Outcome> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response) chunks.push(chunk as Buffer);
  } catch (error) {
    return { failure: `the answer broke off: ${(error as Error).message}` };
  }
  return {
    reply: {
      status: response.statusCode!,
      contentType: response.headers["content-type"] ?? "",
      text: Buffer.concat(chunks).toString(),
    },
  };
}

/** Sends half of the body, makes sure it has left, and closes the connection. */
async function hangUp(outgoing: ClientRequest, body: Buffer): Promise<Outcome> {
  const gone = new Promise<Outcome>((resolve) => {
    outgoing.on("error", () => resolve({ hungUp: true }));
    outgoing.on("close", () => resolve({ hungUp: true }));
  });
  outgoing.write(body.subarray(0, body.length >> 1), () => outgoing.destroy());
  return gone;
}
