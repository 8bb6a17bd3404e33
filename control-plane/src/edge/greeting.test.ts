// The greeting of NATS, cut into chunks in every possible way.
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { test } from "node:test";
import type { ConnectionId } from "../fabric/list-connections.ts";
import { onGreeting } from "./greeting.ts";

const greeting = `INFO {"server_id":"NABC7","server_name":"n1","client_id":4711,"nonce":"x"}\r\n`;
const frame = Buffer.concat([Buffer.from([0x82, greeting.length]), Buffer.from(greeting)]);

/** Reads a greeting whose first part arrived together with the answer to the upgrade. */
function found(rest: Buffer, ...chunks: Buffer[]): ConnectionId[] {
  const socket = new EventEmitter();
  const all: ConnectionId[] = [];
  onGreeting({ socket: socket as Socket, rest }, (connection) => all.push(connection));
  for (const chunk of chunks) socket.emit("data", chunk);
  return all;
}

test("the greeting names the connection once, wherever it is cut", () => {
  const expected = [{ serverId: "NABC7", clientId: 4711 }];
  for (let at = 0; at <= frame.length; at++) {
    assert.deepEqual(found(frame.subarray(0, at), frame.subarray(at), frame), expected, `at ${at}`);
  }
});

test("what is no greeting is passed by, and nothing after the first 8 KiB is read", () => {
  assert.deepEqual(found(Buffer.from("-ERR 'Authorization Timeout'")), []);
  assert.deepEqual(found(Buffer.alloc(5_000), Buffer.alloc(5_000), frame), []);
});
