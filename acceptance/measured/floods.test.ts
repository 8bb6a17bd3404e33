// What hostile callers cost a node: its other callers must not notice them.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { crc32 } from "node:zlib";
import { tryPair } from "@hawser/testkit/deaf-host.ts";
import { tell } from "../figures.ts";
import { assertRefused } from "../refusal.ts";
import { watchNode } from "../node-watch.ts";
import { scenario, until, useWorld } from "../scenario.ts";

useWorld({ nats: 1, environment: { HAWSER_RATE_PER_SECOND: "5000", HAWSER_RATE_BURST: "5000" } });

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
    const sent = httpRequest(url, { method: "POST", headers, agent: false }, (response) => {
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

/** Sends the head of a request and possibly a part of its body, and keeps the connection open. */
function open(baseUrl: string, head: string[], body: Buffer = Buffer.alloc(0)): Open {
  const { hostname, port, host } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  const answer = Promise.withResolvers<string>();
  let text = "";
  socket.on("data", (piece: Buffer) => {
    text += piece.toString();
    if (text.includes("\r\n\r\n")) answer.resolve(text);
  });
  socket.on("error", () => {});
  socket.once("close", () => answer.resolve(text));
  const [first, ...headers] = head;
  socket.write([first, `Host: ${host}`, ...headers, "", ""].join("\r\n"));
  socket.write(body);
  return { socket, answer: answer.promise };
}

interface Open {
  socket: Socket;
  /** The answer as soon as its head has arrived; what has arrived if the connection ends. */
  answer: Promise<string>;
}

function openBody(baseUrl: string, key: string, size: number, sent: Buffer): Open {
  const head = [
    "POST /api/rest/actions/whoami HTTP/1.1",
    `Authorization: Bearer ${key}`,
    "Content-Type: application/json",
    `Content-Length: ${size}`,
  ];
  return open(baseUrl, head, sent);
}

scenario(
  "A5: bodies of millions of values are refused before they are parsed",
  [],
  async ({ world }) => {
    const node = world.nodes[0]!;
    // Several keys, so that no limit of one key answers instead.
    const keys = await Promise.all(
      Array.from({ length: 5 }, () => world.makeKey(world.organizations[1], [])),
    );
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
          const sending = Array.from({ length: times }, (_, i) =>
            post(node.baseUrl + door, keys[i % keys.length]!, body),
          );
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
    assert.match(message, /; and 8995 more\. The action has no fields\.$/);
    const long = await caller.try("whoami", { ["k".repeat(100_000)]: 0 });
    assertRefused(long, 400, "invalid_input");
    assert.ok(long.text.length < 1_000, `${long.text.length} characters`);
  },
);

/** A body that is never finished. The last scenario looks at what became of it. */
let neverFinished: Open & { since: number };

scenario(
  "A12: unfinished bodies of one key hold little memory, and the others are refused at once",
  [],
  async ({ world }) => {
    const node = world.nodes[0]!;
    const [organization] = world.organizations;
    const { baseUrl } = node;
    neverFinished = {
      ...openBody(baseUrl, organization.keys.owner, 100, Buffer.from("{")),
      since: performance.now(),
    };
    const key = organization.keys.viewer;
    const part = Buffer.alloc(8 * MiB - 1, " ");
    const other = world.callerFor(organization.keys.member);
    const opened: Open[] = [];
    await watchNode(node, "60 unfinished bodies of 8 MiB", async () => {
      for (let i = 0; i < 60; i++) {
        opened.push(openBody(baseUrl, key, 8 * MiB, part));
        await once(opened.at(-1)!.socket, "connect");
      }
      const refused: string[] = [];
      for (const { answer } of opened) void answer.then((text) => refused.push(text));
      const count = () => Promise.resolve(refused.length);
      await until("all but two are refused", 20_000, count, (refusals) => refusals === 58);
      for (const text of refused) assert.match(text, /^HTTP\/1\.1 429 /);
      assertRefused(
        await world.callerFor(key).try("whoami", { x: "x".repeat(5 * MiB) }),
        429,
        "concurrency_limited",
      );
      assert.equal((await other.try("whoami")).status, 200, "another key of the organization");
    });
    for (const { socket } of opened) socket.destroy();
    const again = () => world.callerFor(key).try("whoami", { x: "x".repeat(5 * MiB) });
    await until("the bodies are forgotten", 5_000, again, ({ status }) => status === 400);
  },
);

scenario(
  "A12: a key has a limited number of streams open, and others open theirs meanwhile",
  [],
  async ({ world, stranger }) => {
    const node = world.nodes[0]!;
    const { baseUrl } = node;
    const [organization] = world.organizations;
    const { viewer, owner } = organization.keys;
    const stream = (path: string, key: string) =>
      open(baseUrl, [`GET ${path} HTTP/1.1`, `Authorization: Bearer ${key}`]);
    const opened: Open[] = [];
    await watchNode(node, "600 streams of one key", async () => {
      const replies: string[] = [];
      while (opened.length < 600) {
        const some = Array.from({ length: 20 }, () => stream("/api/events", viewer));
        opened.push(...some);
        replies.push(...(await Promise.all(some.map(({ answer }) => answer))));
      }
      const accepted = replies.filter((reply) => reply.startsWith("HTTP/1.1 200"));
      const refused = replies.filter((reply) => reply.startsWith("HTTP/1.1 429"));
      assert.deepEqual([accepted.length, refused.length], [200, 400]);
      const viewing = world.callerFor(viewer);
      const refusal = assertRefused(
        await viewing.request("/api/events"),
        429,
        "concurrency_limited",
      );
      assert.match(refusal.message, /200 streams open.*Close one/);
      const ofSession = await viewing.request("/api/sessions/ses_none/events");
      assertRefused(ofSession, 429, "concurrency_limited");
      assert.equal((await viewing.try("whoami")).status, 200, "calls are not streams");
      for (const key of [owner, stranger.key]) {
        const another = stream("/api/events", key);
        opened.push(another);
        assert.match(await another.answer, /^HTTP\/1\.1 200 /);
      }
    });
    for (const { socket } of opened) socket.destroy();
    const again = async () => {
      const { socket, answer } = stream("/api/events", viewer);
      const text = await answer;
      socket.destroy();
      return text;
    };
    await until("the streams are forgotten", 5_000, again, (text) =>
      text.startsWith("HTTP/1.1 200"),
    );
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

scenario("A12: a body that is not finished in time is answered", [], async () => {
  const { answer, since, socket } = neverFinished;
  assert.match(await answer, /^HTTP\/1\.1 400 [^]*The body arrived too slowly/);
  const seconds = (performance.now() - since) / 1000;
  tell(`an unfinished body of 100 bytes was answered within ${seconds.toFixed(0)} s`);
  socket.destroy();
});
