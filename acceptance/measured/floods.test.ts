// What hostile callers cost a node: its other callers must not notice them.
import assert from "node:assert/strict";
import { request as httpRequest } from "node:http";
import { assertRefused } from "../refusal.ts";
import { watchNode } from "../node-watch.ts";
import { scenario, useWorld } from "../scenario.ts";

useWorld({ nats: 1 });

const MiB = 1024 * 1024;
const zeros = (count: number) => `{"x":[${"0,".repeat(count - 1)}0]}`;

interface Answer {
  status: number;
  text: string;
}

/** Sends prepared bytes, which costs this process less than fetch does. */
function post(url: string, key: string, body: Buffer): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    };
    const sent = httpRequest(url, { method: "POST", headers, timeout: 60_000 }, (response) => {
      const pieces: Buffer[] = [];
      response.on("data", (piece: Buffer) => pieces.push(piece));
      response.once("end", () =>
        resolve({ status: response.statusCode!, text: Buffer.concat(pieces).toString() }),
      );
    });
    sent.once("error", reject);
    sent.end(body);
  });
}

scenario(
  "A5: bodies of millions of values are refused before they are parsed",
  [],
  async ({ world }) => {
    const node = world.nodes[0]!;
    const key = world.organizations[1].keys.viewer;
    const doors = ["/api/rest/actions/whoami", "/api/mcp"];
    const bodies: [what: string, text: string, times: number][] = [
      ["5 bodies of 8 MB of zeros at once", zeros(4_000_000), 5],
      ["20 bodies of 1 MB of zeros at once", zeros(500_000), 20],
      [
        "700,000 unknown keys",
        `{${Array.from({ length: 700_000 }, (_, i) => `"k${i}":0`).join(",")}}`,
        1,
      ],
    ];
    for (const [what, text, times] of bodies) {
      const body = Buffer.from(text);
      assert.ok(body.length <= 8 * MiB, what);
      for (const door of doors) {
        await watchNode(node, `${what} to ${door}`, async () => {
          const sending = Array.from({ length: times }, () => post(node.baseUrl + door, key, body));
          for (const { status, text } of await Promise.all(sending)) {
            const reply = { status, text, body: JSON.parse(text), headers: new Headers() };
            const { message } = assertRefused(reply, 400, "invalid_input", what);
            assert.match(message, /more than 10,000 values/);
          }
        });
      }
    }
  },
);

scenario(
  "A5: a refusal lists 20 wrong fields at most, and says how many more there are",
  [],
  async ({ caller }) => {
    const body = Object.fromEntries(Array.from({ length: 9_000 }, (_, i) => [`k${i}`, 0]));
    const reply = await caller.try("whoami", body);
    const { message, fields } = assertRefused(reply, 400, "invalid_input");
    assert.equal(fields!.length, 20);
    assert.match(message, /; and 8995 more\.$/);
    const long = await caller.try("whoami", { ["k".repeat(100_000)]: 0 });
    assertRefused(long, 400, "invalid_input");
    assert.ok(long.text.length < 1_000, `${long.text.length} characters`);
  },
);
