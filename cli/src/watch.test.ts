// `hawser watch` as a process, against a real node, a real host and the real codex with a scripted model.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { startCuttingProxy } from "@hawser/testkit/cutting-proxy.ts";
import { freePort } from "@hawser/testkit/free-port.ts";
import { mainFile } from "@hawser/testkit/main-file.ts";
import { openTerminal } from "@hawser/testkit/terminal.ts";
import { until } from "@hawser/testkit/until.ts";
import { startWorld, type World } from "@hawser/testkit/world.ts";

const main = mainFile("cli");
let world: World;
before(async () => (world = await startWorld({ hosts: 1, agents: ["codex"] })));
after(() => world[Symbol.asyncDispose]());

const environment = () => ({
  PATH: process.env["PATH"]!,
  HAWSER_URL: world.baseUrl,
  HAWSER_KEY: world.caller.key,
});

function watch(...args: string[]) {
  const child = spawn(process.execPath, [main, "watch", ...args], {
    env: environment(),
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 120_000,
  });
  const watched = { out: "", child };
  child.stdout.setEncoding("utf8").on("data", (piece: string) => (watched.out += piece));
  const ended = Promise.all([text(child.stderr), once(child, "close") as Promise<[number | null]>]);
  return Object.assign(watched, {
    ended: ended.then(([errors, [code]]) => ({ code, errors })),
    async shows(part: string) {
      try {
        await until(`watch shows ${part}`, () => watched.out.includes(part), 60_000);
      } catch (cause) {
        throw new Error(`It does not show ${part}. It shows:\n${watched.out}`, { cause });
      }
    },
  });
}

const scripted = (words: string, ...steps: object[]) => `${words} @@${JSON.stringify(steps)}`;

async function start(): Promise<string> {
  const { instanceId, repository: directory } = world.hosts[0]!;
  const { sessionId } = await world.caller.start_session({
    instanceId,
    directory,
    agentKind: "codex",
  });
  return sessionId;
}

const command = "touch made.txt";
const asks = { calls: [{ tool: "exec_command", input: { cmd: command } }] };

test("a watched session shows its prompt, its request with the answer, the tool, the text and the end", async () => {
  const sessionId = await start();
  const watched = watch(sessionId, "--from-start");
  await world.caller.send_prompt({
    sessionId,
    text: scripted("fix it", asks, { text: "All done." }),
  });
  await watched.shows("the agent asks for permission:");
  await watched.shows('"answer":"reject"');
  const [, answer] = /^ +Allow it: +hawser (call .*)$/m.exec(watched.out)!;
  const answered = spawn("sh", ["-c", `'${process.execPath}' '${main}' ${answer}`], {
    env: environment(),
    stdio: ["ignore", "pipe", "inherit"],
  });
  assert.match(await text(answered.stdout), /"status":"answered"/);
  await watched.shows("turn completed\n");
  await world.caller.end_session({ sessionId });
  assert.deepEqual(await watched.ended, { code: 0, errors: "" });
  const order = [
    "prompt:\n  fix it",
    "the agent asks",
    "request answered (once)",
    "tool done:",
    "agent:\n  All done.",
    "turn completed",
    "session ended",
  ];
  const places = order.map((part) => watched.out.indexOf(part));
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
    watched.out,
  );
  assert.ok(!places.includes(-1), watched.out);

  const later = watch(sessionId);
  assert.deepEqual(await later.ended, { code: 0, errors: "" });
  assert.ok(later.out.startsWith("prompt:\n  fix it"), later.out);
});

test("--json prints each event as a line, the log without a gap", async () => {
  const sessionId = await start();
  await world.caller.send_prompt({ sessionId, text: scripted("fix it", { text: "Done." }) });
  const watched = watch(sessionId, "--from-start", "--json");
  await watched.shows('"turn_finished"');
  await world.caller.end_session({ sessionId });
  assert.equal((await watched.ended).code, 0);
  const events = watched.out
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { type: string; seq?: number });
  const seqs = events.filter(({ type }) => type === "entry").map(({ seq }) => seq);
  assert.deepEqual(
    seqs,
    Array.from(seqs, (_, index) => index + 1),
  );
  const { lastSeq } = await world.caller.list_session_events({ sessionId, tail: true, limit: 1 });
  assert.equal(seqs.length, lastSeq);
});

const hostile =
  "ok \u001b]0;owned\u0007\u001b[2J\u001b[1;1Hprompt:\r\nagent: forged \u009b31m \u202e";

test("escape sequences of an agent are shown, never sent to the terminal", async () => {
  const sessionId = await start();
  using terminal = openTerminal([process.execPath, main, "watch", sessionId], environment());
  const piped = watch(sessionId, "--from-start");
  await world.caller.send_prompt({ sessionId, text: scripted("say it", { text: hostile }) });
  await terminal.untilShown("turn completed");
  const screen = terminal.screen();
  assert.match(screen, /^ {2}ok \\u001b\]0;owned\\u0007\\u001b\[2J\\u001b\[1;1Hprompt:$/m);
  assert.match(screen, /^ {2}agent: forged \\u009b31m \\u202e$/m);
  assert.doesNotMatch(screen, /^agent: forged/m);
  await world.caller.end_session({ sessionId });
  await piped.ended;
  assert.match(piped.out, /^[\n\x20-\x7e]*$/);
  assert.match(piped.out, /^ {2}agent: forged \\u009b31m \\u202e$/m);
});

test("text is shown while it is being written, and not again when it is complete", async () => {
  const sessionId = await start();
  using terminal = openTerminal([process.execPath, main, "watch", sessionId], environment());
  const words = "one two three four five six seven eight";
  await world.caller.send_prompt({
    sessionId,
    text: scripted("count", { text: words, paceMs: 700 }),
  });
  await terminal.untilShown("two");
  assert.doesNotMatch(terminal.screen(), /turn completed/);
  await terminal.untilShown("turn completed");
  assert.equal(terminal.screen().split(/\btwo\b/).length, 3, terminal.screen());
  assert.match(terminal.screen(), new RegExp(`^  ${words}$`, "m"));
  await world.caller.end_session({ sessionId });
});

test("watching goes on after its connection was cut, without a gap", async () => {
  await using proxy = await startCuttingProxy({ port: Number(new URL(world.baseUrl).port) });
  const sessionId = await start();
  const child = spawn(process.execPath, [main, "watch", sessionId, "--from-start", "--json"], {
    env: { ...environment(), HAWSER_URL: `http://127.0.0.1:${proxy.port}` },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 120_000,
  });
  const output = text(child.stdout);
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (piece: string) => (errors += piece));
  await once(child.stdout, "data");
  proxy.cut();
  await world.caller.send_prompt({ sessionId, text: scripted("go", { text: "Done." }) });
  await world.caller.wait_for_session({ sessionId });
  await world.caller.end_session({ sessionId });
  await until("watch says that it tries again", () => /does not answer.*Trying again/.test(errors));
  proxy.heal();
  const [out, [code]] = await Promise.all([
    output,
    once(child, "close") as Promise<[number | null]>,
  ]);
  assert.equal(code, 0, errors);
  const seqs = out
    .trimEnd()
    .split("\n")
    .flatMap((line) => (JSON.parse(line) as { seq?: number }).seq ?? []);
  const { lastSeq } = await world.caller.list_session_events({ sessionId, tail: true, limit: 1 });
  assert.deepEqual(
    seqs,
    Array.from({ length: lastSeq }, (_, index) => index + 1),
  );
});

test("an unknown session is refused; Ctrl-C stops watching with code 130", async () => {
  const unknown = watch("ses_x");
  const { code, errors } = await unknown.ended;
  assert.equal(code, 1);
  assert.match(errors, /^There is no session with this id[^]*Code: not_found\n$/);
  const sessionId = await start();
  const watched = watch(sessionId, "--from-start", "--json");
  await watched.shows('"type":');
  watched.child.kill("SIGINT");
  assert.equal((await watched.ended).code, 130);
  await world.caller.end_session({ sessionId });
});

test("without a session, changes of hosts, sessions and requests are lines", async () => {
  const watched = watch();
  const { instanceId } = world.hosts[0]!;
  await watched.shows(`host ${instanceId} online`);
  const sessionId = await start();
  await watched.shows(`session ${sessionId} active, codex:`);
  await world.caller.end_session({ sessionId });
  await watched.shows(`session ${sessionId} ended`);
  watched.child.kill("SIGINT");
  assert.equal((await watched.ended).code, 130);
});

test("without a service, watch gives up as soon as a call does", async () => {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [main, "watch"], {
    env: { ...environment(), HAWSER_URL: `http://127.0.0.1:${await freePort()}` },
    stdio: ["ignore", "ignore", "pipe"],
    timeout: 120_000,
  });
  const [errors, [code]] = await Promise.all([
    text(child.stderr),
    once(child, "close") as Promise<[number | null]>,
  ]);
  assert.match(errors, /No service answers at .* Start it with "hawser up"/);
  assert.equal(code, 3);
  assert.ok(performance.now() - startedAt < 30_000);
});
