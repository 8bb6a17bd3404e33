import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { test } from "node:test";
import { Refusal } from "@hawser/contract";
import { readJsonBody } from "./json-body.ts";

/** Sends a request as text, closes the connection, and returns what the body was read as. */
async function readSent(request: string): Promise<{ body: unknown; closeListeners: number }> {
  const read = Promise.withResolvers<{ body: unknown; closeListeners: number }>();
  const server = createServer((incoming, outgoing) => {
    let closeListeners = -1;
    readJsonBody({ incoming, outgoing }).then(
      (body) => read.resolve({ body, closeListeners }),
      (error: unknown) => read.reject(error as Error),
    );
    // Added after the reader's own listener, so that it sees what that one has left.
    incoming.on("end", () => (closeListeners = incoming.listenerCount("close")));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("error", () => {}).end(request);
  try {
    return await read.promise;
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const post = (length: number, body: string) =>
  `POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n${body}`;

test("a whole body is read, and nothing waits for the end of its request any more", async () => {
  assert.deepEqual(await readSent(post(8, `{"a": 1}`)), { body: { a: 1 }, closeListeners: 0 });
});

test("a body that ends too early is the caller's fault", async () => {
  await assert.rejects(
    readSent(post(20, `{"a": 1}`)),
    (error) => error instanceof Refusal && error.code === "invalid_input",
  );
});
