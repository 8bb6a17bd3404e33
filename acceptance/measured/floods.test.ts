// What hostile callers cost a node: its other callers must not notice them.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { request as httpRequest } from "node:http";
import { crc32 } from "node:zlib";
import { tryPair } from "@hawser/testkit/deaf-host.ts";
import { tell } from "../figures.ts";
import { assertRefused } from "../refusal.ts";
import { watchNode } from "../node-watch.ts";
import { scenario, until, useWorld } from "../scenario.ts";

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

scenario(
  "A7: twenty hosts are paired during a flood of wrong pairing tokens from their own address",
  [],
  async ({ world, caller }) => {
    const { baseUrl } = world;
    const flood = new AbortController();
    const seen = { 404: 0, 429: 0 };
    const wrong = [() => "x", forgedToken];
    const flooding = Promise.all(
      Array.from({ length: 16 }, async (_, i) => {
        while (!flood.signal.aborted) {
          const { status } = await tryPair(baseUrl, wrong[i % 2]!());
          assert.ok(status === 404 || status === 429, `a wrong token got ${status}`);
          seen[status]++;
        }
      }),
    );
    const started = performance.now();
    try {
      await until(
        "the flood is throttled",
        20_000,
        () => Promise.resolve(seen[429]),
        (n) => n > 0,
      );
      for (let i = 0; i < 20; i++) {
        const { pairingToken } = await caller.create_instance({ name: `rightful ${i}` });
        const { status, text } = await tryPair(baseUrl, pairingToken);
        assert.equal(status, 200, `pairing ${i}: ${text}`);
      }
    } finally {
      flood.abort();
      await flooding;
    }
    const perSecond = ((seen[404] + seen[429]) * 1000) / (performance.now() - started);
    tell(`20 of 20 hosts paired during ${perSecond.toFixed(0)} wrong pairing tokens a second`);
  },
);

/** A token whose form and checksum are right, and that was never issued. */
function forgedToken(): string {
  const body = `hwp_${randomBytes(25).toString("hex")}`;
  return body + crc32(body).toString(16).padStart(8, "0");
}
