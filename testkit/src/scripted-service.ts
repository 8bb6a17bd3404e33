// An HTTP server that plays answers one after the other, for tests of clients. It records what it received.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface ReceivedRequest {
  method: string;
  path: string;
  headers: IncomingMessage["headers"];
  body: string;
  /** By performance.now(). */
  at: number;
}

export type ScriptedAnswer = (response: ServerResponse, request: ReceivedRequest) => void;

export interface ScriptedService extends AsyncDisposable {
  url: string;
  received: ReceivedRequest[];
}

/** Plays the answers in order. The last one is repeated. */
export async function startScriptedService(...answers: ScriptedAnswer[]): Promise<ScriptedService> {
  const received: ReceivedRequest[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { method = "", url: path = "", headers } = request;
    const about = { method, path, headers, body: await text(request), at: performance.now() };
    received.push(about);
    answers[Math.min(received.length, answers.length) - 1]!(response, about);
  };
  const server = createServer((...pair) => void answer(...pair)).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** A success with this result. */
export const result =
  (value: unknown): ScriptedAnswer =>
  (response) =>
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ result: value }));

export const refusal =
  (status: number, error: { code: string; retry: string } & Record<string, unknown>) =>
  (response: ServerResponse) =>
    response
      .writeHead(status, { "content-type": "application/json" })
      .end(JSON.stringify({ error: { message: "A sentence.", ...error } }));

/** Ends the connection without an answer. */
export const hangUp: ScriptedAnswer = (response) => response.destroy();

/** Never answers. */
export const silence: ScriptedAnswer = () => {};

/** Server-sent events. The connection stays open unless `then` ends it. */
export const events =
  (frames: string, then?: (response: ServerResponse) => void): ScriptedAnswer =>
  (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`retry: 1000\n\n${frames}`, () => then?.(response));
  };
