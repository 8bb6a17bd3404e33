// `hawser call` as a process, against a real node.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { freePort } from "@hawser/testkit/free-port.ts";
import { mainFile } from "@hawser/testkit/main-file.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import {
  hangUp,
  refusal,
  result,
  silence,
  startScriptedService,
} from "@hawser/testkit/scripted-service.ts";
import { openTerminal } from "@hawser/testkit/terminal.ts";
import { until } from "@hawser/testkit/until.ts";
import { startWorld, type World } from "@hawser/testkit/world.ts";

const main = mainFile("cli");
const folder = mkdtempSync(join(tmpdir(), "hawser-call-"));
let world: World;
before(async () => (world = await startWorld()));
after(async () => {
  await world[Symbol.asyncDispose]();
  removeDirectory(folder);
});

interface Ran {
  code: number | null;
  out: string;
  errors: string;
}

const login = () => ({ HAWSER_URL: world.baseUrl, HAWSER_KEY: world.caller.key });

function start(line: string, environment: Record<string, string> = login()) {
  // A shell, as users have it: its pipes are pipes.
  const hawser = `'${process.execPath}' '${main}'`;
  return spawn("sh", ["-c", line.replaceAll("hawser", hawser)], {
    env: { PATH: process.env["PATH"], HOME: folder, ...environment },
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 60_000,
  });
}

async function run(line: string, environment?: Record<string, string>): Promise<Ran> {
  const child = start(line, environment);
  const [out, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close") as Promise<[number | null]>,
  ]);
  return { code, out, errors };
}

test("an action without a body is called with an empty one, and its answer is one line of JSON", async () => {
  const { code, out, errors } = await run("hawser call list_instances");
  assert.deepEqual([code, errors], [0, ""]);
  assert.deepEqual(JSON.parse(out), { instances: [], total: 0, truncated: false });
  assert.equal(out.indexOf("\n"), out.length - 1);
});

test("a proxy receives nothing that is for this machine's own service", async (t) => {
  const seen: string[] = [];
  const proxy = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", (bytes) => {
      seen.push(bytes.toString().split("\r\n", 1)[0]!);
      socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
    });
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  t.after(() => void proxy.close());
  const { port } = proxy.address() as AddressInfo;
  for (const no_proxy of ["", "other.example"]) {
    const { code, errors } = await run("hawser call list_instances --deadline 5", {
      ...login(),
      NODE_USE_ENV_PROXY: "1",
      http_proxy: `http://127.0.0.1:${port}`,
      no_proxy,
    });
    assert.deepEqual([code, errors, seen], [0, "", []]);
  }
});

test("the body is an argument, standard input, a pipe or a file", async () => {
  writeFileSync(join(folder, "body.json"), '{"name":"of a file"}');
  for (const [line, name] of [
    [`hawser call create_instance '{"name":"of an argument"}'`, "of an argument"],
    [`echo '{"name":"of input"}' | hawser call create_instance -`, "of input"],
    [`echo '{"name":"of a pipe"}' | hawser call create_instance`, "of a pipe"],
    [`hawser call create_instance @body.json`, "of a file"],
    [`hawser call create_instance < body.json`, "of a file"],
  ] as const) {
    const { code, out, errors } = await run(`${line} --pick name`);
    assert.deepEqual({ code, out, errors }, { code: 0, out: `${name}\n`, errors: "" }, line);
  }
});

test("--pick prints the first value of a field as it is, and fails if there is none", async () => {
  const organization = await run("hawser call get_settings --pick timeZone");
  assert.deepEqual(organization, { code: 0, out: "UTC\n", errors: "" });
  const none = await run("hawser call get_settings --pick nothing");
  assert.deepEqual([none.code, none.out], [1, ""]);
  assert.match(none.errors, /^The answer has no value of the field nothing\./);
});

test("a refusal is a sentence with its next step and its code, and nothing on standard output", async () => {
  const { code, out, errors } = await run(`hawser call get_instance '{"instanceId":"ins_x"}'`);
  assert.deepEqual([code, out], [1, ""]);
  assert.match(
    errors,
    /^There is no instance with this id.*\n(?:Next: hawser call .*\n)?Code: not_found\n$/,
  );
  const wrong = await run("hawser call get_instance");
  assert.equal(wrong.code, 1);
  assert.match(wrong.errors, /instanceId/);
});

test("wrong usage is found before anything is sent", async () => {
  for (const [line, sentence] of [
    ["hawser call", /Name an action/],
    ["hawser call lst_instances", /Did you mean list_instances\?/],
    ["hawser call whoami '{'", /The body is not JSON/],
    ["hawser call whoami '[]'", /not a JSON object/],
    ["hawser call whoami @missing.json", /cannot be read from missing\.json/],
    ["hawser call whoami --nope", /unknown option '--nope'/],
    ["hawser call whoami --deadline soon", /--deadline is a number of seconds/],
    ["hawser nope", /unknown command 'nope'/],
  ] as const) {
    const { code, out, errors } = await run(line);
    assert.deepEqual([code, out], [2, ""], line);
    assert.match(errors, sentence, line);
  }
});

test("without a service to call, a sentence says what to do", async () => {
  const unknown = await run("hawser call whoami", {});
  assert.deepEqual([unknown.code, unknown.out], [2, ""]);
  assert.match(
    unknown.errors,
    /"hawser up", log in to one with "hawser login", or set HAWSER_URL and HAWSER_KEY\./,
  );
  const key = await run("hawser call whoami", { HAWSER_URL: world.baseUrl });
  assert.match(key.errors, /HAWSER_KEY is not/);
  const address = await run("hawser call whoami", {
    HAWSER_URL: "hawser.example",
    HAWSER_KEY: "k",
  });
  assert.deepEqual([address.code, address.out], [2, ""]);
  assert.match(address.errors, /not an http or https address/);
});

test("if no service listens at the address, the call gives up soon with code 3", async () => {
  const HAWSER_URL = `http://127.0.0.1:${await freePort()}`;
  const startedAt = performance.now();
  const { code, out, errors } = await run("hawser call whoami", { HAWSER_URL, HAWSER_KEY: "k" });
  assert.deepEqual([code, out], [3, ""]);
  assert.match(errors, /does not answer.*Trying again/);
  assert.match(errors, /No service answers at .* Start it with "hawser up"/);
  assert.ok(performance.now() - startedAt < 20_000);
});

test("a wait of more than a second says what it waits for", async () => {
  await using service = await startScriptedService((response, request) =>
    setTimeout(() => result({ name: "late" })(response, request), 2_000),
  );
  const late = await run("hawser call whoami", { HAWSER_URL: service.url, HAWSER_KEY: "k" });
  assert.deepEqual([late.code, late.out], [0, '{"name":"late"}\n']);
  assert.equal(late.errors, "Waiting for the answer of whoami …\n");
});

test("a broken call is sent again with its idempotency key; a later command can repeat it", async () => {
  await using service = await startScriptedService(hangUp, result({ done: 1 }));
  const environment = { HAWSER_URL: service.url, HAWSER_KEY: "k" };
  const first = await run("hawser call create_instance '{}' --idempotency-key mine", environment);
  assert.deepEqual([first.code, first.out], [0, '{"done":1}\n']);
  const keys = service.received.map(({ headers }) => headers["idempotency-key"]);
  assert.deepEqual(keys, ["mine", "mine"]);
  await using dead = await startScriptedService(hangUp);
  const lost = await run("hawser call create_instance '{}' --deadline 1", {
    HAWSER_URL: dead.url,
    HAWSER_KEY: "k",
  });
  assert.equal(lost.code, 3);
  const [, key] = /Repeat it with --idempotency-key (\w+):/.exec(lost.errors)!;
  assert.equal(dead.received[0]!.headers["idempotency-key"], key);
});

test("a limit is waited for as long as the service asks", async () => {
  const limited = refusal(429, { code: "rate_limited", retry: "later", retryAfterMs: 1_500 });
  await using service = await startScriptedService(limited, result({ done: 1 }));
  const { code, errors } = await run("hawser call whoami", {
    HAWSER_URL: service.url,
    HAWSER_KEY: "k",
  });
  assert.equal(code, 0);
  assert.match(errors, /^A sentence\. \(rate_limited\) Trying again …\n$/);
  assert.ok(service.received[1]!.at - service.received[0]!.at >= 1_500);
});

test("--list shows the actions that the key may call, and narrows them", async () => {
  const all = await run("hawser call --list");
  assert.equal(all.code, 0);
  assert.match(all.out, /^list_instances +List the organization's hosts/m);
  const some = await run("hawser call --list webhook");
  assert.match(some.out, /^create_webhook /m);
  assert.doesNotMatch(some.out, /^list_instances /m);
  const none = await run("hawser call --list coffee");
  assert.deepEqual([none.code, none.errors], [1, 'No action mentions "coffee".\n']);
});

test("Ctrl-C ends a call at once with code 130", async () => {
  await using service = await startScriptedService(silence);
  const child = spawn(process.execPath, [main, "call", "whoami"], {
    env: { HAWSER_URL: service.url, HAWSER_KEY: "k" },
    stdio: "ignore",
  });
  await until("the call is sent", () => service.received.length > 0);
  const startedAt = performance.now();
  child.kill("SIGINT");
  const [code] = (await once(child, "close")) as [number | null];
  assert.equal(code, 130);
  assert.ok(performance.now() - startedAt < 1_000);
});

test("a terminal gets indented JSON, without anything that it would obey", async () => {
  const { instance } = await world.caller.create_instance({ name: "red \u009b31m host" });
  const { instanceId } = instance;
  const body = JSON.stringify({ instanceId });
  using terminal = openTerminal([process.execPath, main, "call", "get_instance", body], login());
  await terminal.untilShown('"name": "red \\u009b31m host"');
  // tmux moves the first line out of sight when the program ends.
  const picked = `echo; '${process.execPath}' '${main}' call get_instance '${body}' --pick name`;
  using field = openTerminal(["sh", "-c", picked], login());
  await field.untilShown("red \\u009b31m host");
});
