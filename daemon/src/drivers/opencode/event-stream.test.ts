// The event stream over a connection that is cut.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { until } from "@hawser/testkit/until.ts";
import { createApi } from "./api.ts";
import { followEvents } from "./event-stream.ts";
import type { LiveEvent } from "./frames.ts";

const frame = (type: string, properties: object) =>
  `data: ${JSON.stringify({ payload: { type, properties } })}\n\n`;

test("frames may be split over chunks, and a cut stream is reopened until the server is gone", async (t) => {
  const streams: ServerResponse[] = [];
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(frame("server.connected", {}));
    streams.push(response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.closeAllConnections());
  t.after(() => void server.close());

  const events: LiveEvent[] = [];
  let opened = 0;
  let isAlive = true;
  const ended = followEvents(
    createApi((server.address() as AddressInfo).port, "secret"),
    {
      onOpen: () => opened++,
      onEvent: (event) => events.push(event),
      isServerAlive: () => isAlive,
    },
    new AbortController().signal,
  );
  await until("the stream is open", () => opened === 1);
  const idle = frame("session.status", { sessionID: "ses_1", status: { type: "idle" } });
  for (const piece of [idle.slice(0, 20), idle.slice(20, -1), idle.slice(-1) + idle]) {
    await new Promise((resolve) => streams[0]!.write(piece, resolve));
  }
  await until("both frames have arrived", () => events.length === 2);
  assert.deepEqual(events[0], { type: "status", sessionID: "ses_1", status: "idle" });

  streams[0]!.destroy();
  await until("the stream is open again", () => opened === 2);
  isAlive = false;
  streams[1]!.destroy();
  await ended;
});
