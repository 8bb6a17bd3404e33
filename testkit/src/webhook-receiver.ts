// A receiver of webhooks on a loopback port. A test decides how it answers: with a status, with a redirect, by
// closing the connection, or not at all.
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";

export interface ReceivedMessage {
  path: string;
  headers: Record<string, string>;
  /** The body as it was sent, which is what the signature covers. */
  text: string;
  type: string;
  data: Record<string, unknown>;
  /** When it arrived, as `performance.now()`. */
  at: number;
}

export type ReceiverAnswer =
  | { status: number }
  | { redirect: string }
  | { reset: true }
  | { hang: true };

export interface WebhookReceiver extends AsyncDisposable {
  url: string;
  /** Every message that arrived, in order, however it was answered. */
  messages: ReceivedMessage[];
  /** How the receiver answers from now on. By default with 200. */
  answer: (message: ReceivedMessage) => ReceiverAnswer;
}

export async function startWebhookReceiver(address = "127.0.0.1"): Promise<WebhookReceiver> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString();
      const { type, data } = JSON.parse(text) as Pick<ReceivedMessage, "type" | "data">;
      const headers = request.headers as Record<string, string>;
      const message = { path: request.url!, headers, text, type, data, at: performance.now() };
      receiver.messages.push(message);
      giveAnswer(response, receiver.answer(message));
    });
    request.on("error", () => {});
  });
  server.listen(0, address);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const receiver: WebhookReceiver = {
    url: `http://${address}:${port}/hook`,
    messages: [],
    answer: () => ({ status: 200 }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}

function giveAnswer(response: ServerResponse, answer: ReceiverAnswer): void {
  if ("status" in answer) response.writeHead(answer.status).end("a body that is not read");
  else if ("redirect" in answer) response.writeHead(302, { location: answer.redirect }).end();
  else if ("reset" in answer) response.socket?.resetAndDestroy();
}

/** Checks a message as receivers do, with a library of Standard Webhooks. Throws if it is wrong or old. */
export function verifyMessage(
  secret: string,
  { text, headers }: Pick<ReceivedMessage, "text" | "headers">,
): unknown {
  return new Webhook(secret).verify(text, headers);
}
