// Every route of opencode, asked for in every wrong way: with the session of somebody else, another directory, and
// addresses that servers read in different ways. Nothing of others leaves the host, and nothing of them changes.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  plantedKey,
  startExposedHost,
  type ExposedHost,
  type ExposedSession,
} from "@hawser/testkit/exposed-host.ts";
import type { AcceptedTunnel, Asking } from "@hawser/testkit/tunnel-edge.ts";
import { allowed } from "./opencode/routes.ts";

const secret = "text-of-a-foreign-session-91c2";
const outside = "name-of-a-foreign-file-77aa";

interface Stage {
  exposed: ExposedHost;
  own: ExposedSession;
  /** Managed by Hawser, but not what the session's exposure is for. */
  other: ExposedSession;
  /** Made by the host's user, without Hawser. */
  foreign: ExposedSession;
  routes: { method: string; path: string }[];
}

async function setUp(exposed: ExposedHost): Promise<Stage> {
  const [own, other] = [await exposed.startSession("Own"), await exposed.startSession("Other")];
  const elsewhere = join(exposed.small.directory, "elsewhere");
  mkdirSync(elsewhere);
  writeFileSync(join(elsewhere, outside), secret);
  const made = await exposed.direct("POST", "/session", {
    directory: elsewhere,
    body: { title: secret },
  });
  const foreign = {
    sessionId: "",
    handle: (made as { id: string }).id,
    directory: elsewhere,
  };
  for (const { handle, directory } of [other, foreign]) {
    const body = { noReply: true, parts: [{ type: "text", text: secret }] };
    await exposed.direct("POST", `/session/${handle}/message`, { directory, body });
  }
  const { paths } = (await exposed.direct("GET", "/doc")) as { paths: Record<string, object> };
  const routes = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations)
      .filter((name) => name !== "parameters")
      .map((name) => ({ method: name.toUpperCase(), path })),
  );
  return { exposed, own, other, foreign, routes };
}

/** The path with this session, and with ids that exist nowhere. */
const fill = (path: string, sessionID: string) =>
  path
    .replaceAll("{sessionID}", sessionID)
    .replaceAll("{messageID}", "msg_1")
    .replaceAll(/\{\w+\}|\*/g, "x_1");

const bodies = ["POST", "PUT", "PATCH"];

interface Variant {
  name: string;
  path: string;
  asking?: Asking;
}

/** Wrong ways to ask for a route. Each must be refused. */
function variantsOf(path: string, { own, foreign }: Stage): Variant[] {
  const mine = fill(path, own.handle);
  const theirs = fill(path, foreign.handle);
  const hasSession = path.includes("{sessionID}");
  const at = encodeURIComponent(own.directory);
  return [
    ...(hasSession ? [{ name: "foreign session", path: theirs }] : []),
    { name: "root", path: `${mine}?directory=/` },
    { name: "encoded root", path: `${mine}?directory=%2F` },
    { name: "foreign directory", path: `${mine}?directory=${foreign.directory}` },
    { name: "twice", path: `${mine}?directory=${at}&directory=/` },
    { name: "twice encoded", path: `${mine}?directory=${encodeURIComponent(at)}` },
    { name: "parent", path: `${mine}?directory=${at}%2F..%2F..` },
    { name: "encoded name", path: `${mine}?director%79=/` },
    { name: "list", path: `${mine}?directory[]=/` },
    { name: "token", path: `${mine}?auth_token=YTpi` },
    { name: "workspace", path: `${mine}?workspace=wrk_1` },
    { name: "header", path: mine, asking: { headers: { "x-opencode-directory": "/" } } },
    {
      name: "header twice",
      path: mine,
      asking: { headers: { "x-opencode-directory": [own.directory, foreign.directory] } },
    },
    { name: "dots", path: `/config/..${mine}` },
    { name: "encoded slash", path: mine.replaceAll("/", "%2f") },
    { name: "semicolon", path: `${mine};a=1` },
    { name: "backslash", path: mine.replaceAll("/", "\\") },
    { name: "absolute", path: `http://127.0.0.1${mine}` },
    { name: "two slashes", path: `/${mine}` },
  ];
}

/** Sends some at a time: a tunnel has a limit of streams. */
async function inTurns<Item>(items: Item[], work: (item: Item) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += 40) {
    await Promise.all(items.slice(at, at + 40).map(work));
  }
}

async function checkWrongWays(stage: Stage, tunnel: AcceptedTunnel): Promise<number> {
  const all = stage.routes.flatMap(({ method, path }) =>
    variantsOf(path, stage).map((variant) => ({ method, route: path, ...variant })),
  );
  await inTurns(all, async ({ method, route, name, path, asking }) => {
    const body = bodies.includes(method) ? { body: { sessionID: stage.foreign.handle } } : {};
    const answer = await tunnel.ask(method, path, { ...body, ...asking });
    // HTTP/2 itself knows no address without a slash at its beginning.
    if (!path.startsWith("/") && answer.status === 0) return;
    assert.equal(answer.status, 403, `${method} ${route}, ${name}: ${answer.text}`);
    const { error } = answer.json() as { error: { code: string; message: string } };
    assert.match(error.code, /^forbidden_/);
    assert.match(error.message, /\.$/);
  });
  return all.length;
}

/** Asks for every route in the right way. What is not allowed is refused; the rest names nothing of others. */
async function checkRightWay(stage: Stage, tunnel: AcceptedTunnel): Promise<void> {
  const { own, foreign, routes } = stage;
  const reads = routes.filter(({ method, path }) => {
    const route = allowed[`${method} ${path}`];
    return route?.class === "session" || route?.class === "directory";
  });
  await inTurns(routes, async ({ method, path }) => {
    if (allowed[`${method} ${path}`]) return;
    const body = bodies.includes(method) ? { body: { text: secret } } : {};
    const answer = await tunnel.ask(method, fill(path, own.handle), body);
    assert.equal(answer.status, 403, `${method} ${path}`);
  });
  for (const { method, path } of reads) {
    const query = path === "/find/file" ? "?query=a" : "";
    const answer = await tunnel.ask(method, fill(path, own.handle) + query);
    assert.ok(answer.status === 200 || path.includes("{messageID}"), `${path}: ${answer.text}`);
    for (const hidden of [secret, outside, plantedKey, foreign.handle, foreign.directory]) {
      assert.ok(!answer.text.includes(hidden), `${path} names ${hidden}`);
    }
    assert.ok(!answer.text.includes(stage.exposed.server().password), path);
  }
}

test("T25: an exposed session reaches nothing else", { timeout: 240_000 }, async () => {
  await using exposed = await startExposedHost();
  const stage = await setUp(exposed);
  const { own, other, foreign } = stage;
  const tunnel = await exposed.expose({ kind: "session", sessionId: own.sessionId });
  const before = JSON.stringify(await exposed.direct("GET", "/experimental/session?limit=100"));

  assert.ok((await checkWrongWays(stage, tunnel)) > 3_000);
  await checkRightWay(stage, tunnel);
  // A managed session is as far away as a foreign one.
  for (const path of ["", "/message", "/todo", "/diff", "/children"]) {
    assert.equal((await tunnel.ask("GET", `/session/${other.handle}${path}`)).status, 403);
  }
  const listed = (await tunnel.ask("GET", "/session")).json() as { id: string }[];
  assert.deepEqual(
    listed.map(({ id }) => id),
    [own.handle],
  );
  const smuggled = { sessionID: foreign.handle, parts: [{ type: "text", text: "x" }] };
  const prompt = await tunnel.ask("POST", `/session/${own.handle}/message`, { body: smuggled });
  assert.equal(prompt.status, 400);

  const after = JSON.stringify(await exposed.direct("GET", "/experimental/session?limit=100"));
  assert.equal(after, before, "a refused request has changed a session");
});

test("T25: an exposed host reaches its managed sessions only", { timeout: 240_000 }, async () => {
  await using exposed = await startExposedHost();
  const stage = await setUp(exposed);
  const { own, other, foreign } = stage;
  const tunnel = await exposed.expose({ kind: "instance" });
  await checkWrongWays(stage, tunnel);
  for (const { handle, directory } of [own, other]) {
    const at = encodeURIComponent(directory);
    const read = await tunnel.ask("GET", `/session/${handle}?directory=${at}`);
    assert.equal(read.status, 200);
    const listed = await tunnel.ask("GET", `/session?directory=${at}`);
    assert.ok(listed.text.includes(handle));
    assert.ok(!listed.text.includes(foreign.handle));
  }
  const mixed = `/session/${own.handle}?directory=${encodeURIComponent(other.directory)}`;
  assert.equal((await tunnel.ask("GET", mixed)).status, 403);
});
