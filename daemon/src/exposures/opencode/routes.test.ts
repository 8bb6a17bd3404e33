// Every route of opencode is classified, and no classified one has vanished.
import assert from "node:assert/strict";
import { test } from "node:test";
import { startExposedHost } from "@hawser/testkit/exposed-host.ts";
import { allowed, denied, findRoute } from "./routes.ts";

/** `denied` has one line for each path, with all its methods. */
const deniedRoutes = denied.flatMap((line) => {
  const words = line.split(" ");
  const path = words.pop()!;
  return words.map((method) => `${method} ${path}`);
});

test(
  "the document of the shipped opencode has exactly the classified routes",
  { timeout: 120_000 },
  async () => {
    await using exposed = await startExposedHost();
    await exposed.startSession();
    const { paths } = (await exposed.direct("GET", "/doc")) as { paths: Record<string, object> };
    const documented = Object.entries(paths).flatMap(([path, operations]) =>
      Object.keys(operations)
        .filter((name) => name !== "parameters")
        .map((method) => `${method.toUpperCase()} ${path}`),
    );
    const classified = [...Object.keys(allowed), ...deniedRoutes];
    assert.deepEqual(classified.toSorted(), documented.toSorted());
    for (const route of deniedRoutes) {
      const [method = "", path = ""] = route.split(" ");
      const filled = path.replace("{sessionID}", "ses_a").replace(/\{\w+\}|\*/g, "msg_a");
      assert.equal(findRoute(method, filled), undefined, route);
    }
  },
);

const table: [string, string, string | undefined, string?][] = [
  ["GET", "/", "page"],
  ["GET", "/assets/index-jmcwmLQ6.js", "page"],
  ["GET", "/assets/a/b.js", undefined],
  ["GET", "/assets/index.html", undefined],
  ["POST", "/", undefined],
  ["GET", "/anything", undefined],
  ["GET", "/session", "directory"],
  ["GET", "/session/status", "directory"],
  ["GET", "/session/ses_a1", "session", "ses_a1"],
  ["HEAD", "/session/ses_a1", undefined],
  ["OPTIONS", "/session/ses_a1", undefined],
  ["GET", "/session/ses_a1/", undefined],
  ["GET", "/session/global", undefined],
  ["GET", "/session/ses_a-1", undefined],
  ["GET", "/session/ses_a1/message/msg_2", "session", "ses_a1"],
  ["GET", "/session/ses_a1/message/ses_a2", undefined],
  ["POST", "/session/ses_a1/message", "turn", "ses_a1"],
  ["POST", "/session/ses_a1/shell", undefined],
  ["DELETE", "/session/ses_a1", undefined],
  ["GET", "/global/event", "stream"],
  ["PATCH", "/global/config", undefined],
];

test("a route is found by its method and its whole path", () => {
  for (const [method, path, kind, sessionID] of table) {
    const found = findRoute(method, path);
    assert.equal(found?.route.class, kind, `${method} ${path}`);
    assert.equal(found?.sessionID, sessionID, `${method} ${path}`);
  }
});
