import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { isRoot } from "@hawser/testkit/clean-user.ts";
import { freePort } from "@hawser/testkit/free-port.ts";
import { stopProcess } from "@hawser/testkit/stop-process.ts";
import { until } from "@hawser/testkit/until.ts";
import { CommandFailed } from "./command-failed.ts";
import { connect } from "./connect.ts";
import { fetchFromOwn, listenerAt } from "./listener.ts";

const isShown = process.platform === "linux";

/** A program of another user that answers every request, and prints each line that it receives. */
const stranger = `import http.server, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        print("received", self.headers.get("authorization"), flush=True)
        self.send_response(200)
        self.end_headers()
    do_GET = do_POST
server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
print(server.server_port, flush=True)
server.serve_forever()`;

test(
  "a program of this user is found at exact and at all addresses",
  { skip: !isShown },
  async () => {
    for (const host of ["127.0.0.1", "0.0.0.0", "::"]) {
      const server = createServer((_request, response) => response.end("here"));
      await once(server.listen(0, host), "listening");
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      assert.equal(listenerAt(url), "own", host);
      assert.equal(await (await fetchFromOwn(url)).text(), "here");
      server.closeAllConnections();
      server.close();
    }
  },
);

test("without a program at the address nothing is tried", { skip: !isShown }, async () => {
  const url = `http://127.0.0.1:${await freePort()}`;
  assert.equal(listenerAt(url), "none");
  const failure = await fetchFromOwn(url).catch((error: Error) => error);
  assert.equal((failure as Error & { cause: { code: string } }).cause.code, "ECONNREFUSED");
});

test("certificates decide about https addresses", () => {
  assert.equal(listenerAt("https://127.0.0.1:1"), "unknown");
  assert.equal(listenerAt("https://hawser.example"), "unknown");
});

test(
  "the key is not sent to a program of another user",
  { skip: !isRoot || !isShown },
  async () => {
    const nobody = 65_534;
    const child = spawn("python3", ["-c", stranger], {
      uid: nobody,
      gid: nobody,
      cwd: "/",
      stdio: ["ignore", "pipe", "ignore"],
    });
    try {
      const lines: string[] = [];
      const reader = createInterface({ input: child.stdout });
      const [port] = (await once(reader, "line")) as [string];
      reader.on("line", (line) => lines.push(line));
      const url = `http://127.0.0.1:${port}`;
      assert.equal(listenerAt(url), "foreign");
      const options = { waitsFor: "an answer", deadlineMs: 10_000, unreachableMs: 1_000 };
      using own = connect({ url, key: "hwk_secret", isOwn: true }, options);
      await assert.rejects(own.client.whoami({}, { signal: own.signal }), (error) => {
        assert.ok(error instanceof CommandFailed);
        assert.match(error.message, /another user/);
        return true;
      });
      assert.deepEqual(lines, []);
      // A service that somebody else runs is used if the caller names it.
      using named = connect({ url, key: "hwk_named", isOwn: false }, options);
      await named.fetch(url, { headers: { authorization: "Bearer hwk_named" } });
      await until("the request is received", () => lines.length > 0);
      assert.deepEqual(lines, ["received Bearer hwk_named"]);
    } finally {
      await stopProcess(child);
    }
  },
);
