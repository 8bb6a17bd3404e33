// "The first five minutes" of the README, word for word: a user with an empty home, a checkout, the machine's
// own Node, and the real opencode, which the host downloads and whose model is scripted.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeCheckout } from "@hawser/testkit/clean-checkout.ts";
import { makeCleanUser, type CleanUser } from "@hawser/testkit/clean-user.ts";
import { giveHome } from "@hawser/testkit/give-home.ts";
import { writeOpencodeHome } from "@hawser/testkit/opencode-home.ts";
import { startPackageServer, type PackageServer } from "@hawser/testkit/package-server.ts";
import { startScriptedModel, type ScriptedModel } from "@hawser/testkit/scripted-model.ts";
import { until } from "@hawser/testkit/until.ts";
import { tell } from "../figures.ts";
import { snippetsOf } from "../guide-snippets.ts";

const readme = readFileSync(join(import.meta.dirname, "../../README.md"), "utf8");
const [build, session] = snippetsOf(readme.slice(readme.indexOf("## The first five minutes")));
const patienceMs = 240_000;

let user: CleanUser;
let packages: PackageServer;
let model: ScriptedModel;

before(async () => {
  packages = await startPackageServer();
  model = await startScriptedModel();
  user = await makeCleanUser({ shell: "/bin/bash" });
  makeCheckout(join(user.home, "checkout"));
  writeOpencodeHome(user.home, model.url);
  giveHome(user.home);
});
after(async () => {
  if (existsSync(join(user.home, ".local/bin/hawser")))
    await user.run("~/.local/bin/hawser down", environment());
  await user[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
  await packages[Symbol.asyncDispose]();
});

const environment = () => ({ npm_config_registry: packages.url });
const log = (name: string) => {
  const file = join(user.home, `${name}.log`);
  return existsSync(file) ? readFileSync(file, "utf8") : "";
};

/** Types the lines into a terminal of their own. Its output goes to a file. */
async function type(name: string, lines: string): Promise<void> {
  const script = `cd ~/checkout; set -e -o pipefail\n${lines}`;
  const line = `( bash -c '${script.replaceAll("'", `'\\''`)}'; echo "exit $?" ) > ${name}.log 2>&1 < /dev/null &`;
  await user.run(line, environment());
}

async function untilLogged(name: string, part: RegExp): Promise<void> {
  await until(
    `${name} prints ${part}`,
    () => part.test(log(name)) || /^exit /m.test(log(name)),
    patienceMs,
  );
  assert.match(log(name), part);
}

test("The first five minutes work as they are written, from a checkout to the first answered prompt", async () => {
  const startedAt = performance.now();
  await type("build", build!.text);
  await untilLogged("build", /^PostgreSQL \S+ runs\.$/m);
  const runsAt = performance.now();
  await untilLogged("build", /^Hawser is ready at /m);
  const readyAt = performance.now();
  // Sessions can start now, because an agent is installed.
  assert.match(log("build"), /^Installing opencode …\n(?:.*\n)*opencode is ready\.\n/m);
  await type("session", `export PATH=~/.local/bin:$PATH\n${session!.text}`);
  await untilLogged("session", /^exit 0$/m);
  assert.match(log("session"), /"turnOutcome":"completed"/);
  assert.match(log("session"), /"sessionUpdate":"turn_finished"/);
  const answeredAt = performance.now();
  const seconds = (from: number, to: number) => `${((to - from) / 1000).toFixed(1)} s`;
  tell(
    `quickstart with the machine's Node: ready after ${seconds(startedAt, readyAt)}, of which hawser up ${seconds(runsAt, readyAt)} since PostgreSQL ran; the session took ${seconds(readyAt, answeredAt)}`,
  );
});

test("What hawser up prints leads to an answered prompt in five interactions", async () => {
  const printed = /^A first session, in another terminal:\n((?: {2}.+\n)+)/m.exec(
    log("build"),
  )![1]!;
  const lines = printed.trim().split(/\n */);
  const interactions = ["hawser up", "Enter, for the repositories", ...lines];
  assert.ok(interactions.length <= 5, interactions.join("\n"));
  await type("printed", `export PATH=~/.local/bin:$PATH\n${lines.join("\n")}`);
  await untilLogged("printed", /^exit 0$/m);
  assert.match(log("printed"), /"turnOutcome":"completed"/);
  tell(`quickstart: ${interactions.length} interactions until the first answered prompt`);
});
