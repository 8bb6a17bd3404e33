// Messages in the frames of a host, however the bytes are cut, and bytes that NATS reads differently.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createMessageCounter } from "./count-messages.ts";

/** A masked frame, as a client sends it. */
function frame(text: string, { first = 0x82, isMasked = true } = {}): Buffer {
  const data = Buffer.from(text);
  const mask = Buffer.from([0x5a, 0x01, 0xfe, 0x0d]);
  const length =
    data.length < 126
      ? Buffer.from([data.length])
      : data.length < 65_536
        ? Buffer.from([126, data.length >> 8, data.length & 0xff])
        : Buffer.from([127, 0, 0, 0, 0, ...uint32(data.length)]);
  if (!isMasked) return Buffer.concat([Buffer.from([first]), length, data]);
  length[0]! |= 0x80;
  const masked = data.map((byte, index) => byte ^ mask[index & 3]!);
  return Buffer.concat([Buffer.from([first]), length, mask, masked]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** The count of all bytes, in pieces of this size. */
function count(bytes: Buffer, pieceSize = bytes.length): number | undefined {
  const add = createMessageCounter();
  let total = 0;
  for (let at = 0; at < bytes.length; at += pieceSize) {
    const counted = add(bytes.subarray(at, at + pieceSize));
    if (counted === undefined) return undefined;
    total += counted;
  }
  return total;
}

const publish = (payload: string) =>
  `PUB host.a.up.report _INBOX.a ${payload.length}\r\n${payload}\r\n`;

test("A6: each message counts, in one frame or many, and however the bytes are cut", () => {
  const messages = [
    'CONNECT {"verbose":false}\r\n',
    "PING\r\n",
    publish("PUB inside a payload 3\r\nabc\r\n"),
    publish("x".repeat(70_000)),
    "hpub a 12 14\nNATS/1.0\r\n\r\nok\r\n",
    "SUB _INBOX.a.* 1\r\n",
    publish(""),
  ];
  for (const bytes of [
    frame(messages.join("")),
    Buffer.concat(messages.map((message) => frame(message))),
  ]) {
    for (const size of [1, 7, 1000, bytes.length])
      assert.equal(count(bytes, size), messages.length);
  }
});

test("A6: frames count that contain no whole line", () => {
  assert.equal(count(frame("", { first: 0x89 })), 1, "ping of the WebSocket");
  assert.equal(count(Buffer.concat([frame("P"), frame("I"), frame("NG\r\n")])), 3);
  const split = Buffer.concat([frame("PUB a 4\r\nab"), frame("cd\r\nPING\r\n", { first: 0x80 })]);
  assert.equal(count(split), 2);
});

test("A6: bytes that NATS might read differently are refused", () => {
  const refused: [string, Buffer][] = [
    ["a frame without a mask", frame("PING\r\n", { isMasked: false })],
    ["a compressed frame", frame("PING\r\n", { first: 0xc2 })],
    ["an unknown kind of frame", frame("PING\r\n", { first: 0x83 })],
    // NATS would read these as 0 bytes of payload, and then as messages.
    ["a carriage return inside a line", frame("PUB a 1\r05\nPING\r\n")],
    ["a length that is no number", frame("PUB a 1x\r\n")],
    ["a length that is missing", frame("PUB a\r\n")],
    ["a length that is not exact", frame(`PUB a ${"9".repeat(40)}\r\n`)],
  ];
  for (const [what, bytes] of refused) assert.equal(count(bytes), undefined, what);
});
