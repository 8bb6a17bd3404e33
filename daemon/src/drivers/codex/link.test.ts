// Linked keys in the real codex: the requests that it sends with them, and where they are.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { LinkWay } from "@hawser/contract";
import { agentProgram } from "@hawser/testkit/agent-programs.ts";
import { openCodexBench } from "@hawser/testkit/codex-bench.ts";
import { startCloudRecorder } from "@hawser/testkit/cloud-recorder.ts";
import { startCodexIssuer, type CodexIssuer } from "@hawser/testkit/codex-issuer.ts";
import { never, startSession } from "@hawser/testkit/conformance/recording.ts";
import { listProcesses } from "@hawser/testkit/processes.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { startScriptedModel, type ScriptedModel } from "@hawser/testkit/scripted-model.ts";
import type { LoginPlace, LoginProgram } from "../login.ts";
import { createCodexLogin } from "./login.ts";

const canary = "sk-canary-codex-0123456789";

let folder: string;
let issuer: CodexIssuer;
let model: ScriptedModel;
let login: LoginProgram;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "hawser-codex-link-"));
  issuer = await startCodexIssuer();
  model = await startScriptedModel();
  const path = await agentProgram("codex");
  login = createCodexLogin({
    program: () => ({ path, version: "0.166.0" }),
    environment: { HOME: folder, ...issuer.environment },
  });
});
after(async () => {
  await issuer[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
  removeDirectory(folder);
});

let places = 0;
function makePlace(): LoginPlace {
  const [home, temporary] = [join(folder, `home-${++places}`), join(folder, `tmp-${places}`)];
  mkdirSync(home, { mode: 0o700 });
  mkdirSync(temporary);
  return { home, temporary };
}

const link = (place: LoginPlace, way: LinkWay, region: string | null = null) =>
  login.link(place, { way, region, baseUrl: null, projectId: null, secret: canary }, never);

/** Plays a turn in a home. Returns the key with which the model was asked. */
async function keyAtModel({ home }: LoginPlace, gateway?: string) {
  await using bench = await openCodexBench({
    home,
    environment: { HOME: folder },
    gateway: () => gateway,
  });
  const { authenticated } = await bench.driver().readState(never);
  assert.equal(authenticated, true);
  const recording = await startSession(bench);
  await recording.play([{ text: "Hello." }]);
  for (const { command, environment } of listProcesses()) {
    assert.ok(![command, ...environment].some((text) => text.includes(canary)));
  }
  return model.requests.at(-1)!.authorization;
}

test("the maker's service is asked with the linked key, which codex stores", async () => {
  const place = makePlace();
  issuer.writeHome(place.home, model.url);
  assert.equal(await login.readAccount(place, never), undefined);
  await link(place, "api_key");
  assert.deepEqual(await login.readAccount(place, never), { account: null, plan: null });
  assert.equal(statSync(join(place.home, "auth.json")).mode & 0o777, 0o600);
  assert.equal(await keyAtModel(place), `Bearer ${canary}`);
  await login.logOut(place, never);
  assert.equal(existsSync(join(place.home, "auth.json")), false);
  assert.deepEqual(issuer.requests, [], "nobody else is asked about a key");
});

test("a gateway is asked with the linked key instead of the maker's service", async () => {
  const place = makePlace();
  await link(place, "gateway");
  assert.equal(await keyAtModel(place, `${model.url}/v1`), `Bearer ${canary}`);
});

test("a session is not continued at another provider, so no key reaches one that it is not for", async () => {
  const place = makePlace();
  issuer.writeHome(place.home, model.url);
  await link(place, "api_key");
  const settings = { home: place.home, environment: { HOME: folder } };
  await using bench = await openCodexBench(settings);
  const recording = await startSession(bench);
  await recording.play([{ text: "Hello." }]);
  const kept = recording.kept();
  await bench.driver().close();
  const asked = model.requests.length;
  await using other = await openCodexBench({ ...settings, gateway: () => `${model.url}/v1` });
  await assert.rejects(
    other.driver().resume(kept, () => {}, never),
    /fork_session/,
  );
  assert.equal(model.requests.length, asked);
});

test("Bedrock is asked with the linked key in the region", async () => {
  const place = makePlace();
  await link(place, "bedrock", "eu-central-1");
  const models = "bedrock-mantle.eu-central-1.api.aws";
  await using cloud = await startCloudRecorder([models]);
  const environment = { HOME: folder, ...cloud.environment };
  await using bench = await openCodexBench({ home: place.home, environment });
  const recording = await startSession(bench);
  await recording.play([{ text: "Hello." }]);
  assert.deepEqual(cloud.requests[0], {
    line: `POST ${models}/openai/v1/responses`,
    authorization: `Bearer ${canary}`,
  });
});

test("Bedrock's key is stored with its region, and leaves no setting behind", async () => {
  const place = makePlace();
  await link(place, "bedrock", "eu-central-1");
  assert.deepEqual(await login.readAccount(place, never), { account: null, plan: null });
  const stored = readFileSync(join(place.home, "auth.json"), "utf8");
  assert.deepEqual(JSON.parse(stored).bedrock_api_key, {
    api_key: canary,
    region: "eu-central-1",
  });
  await login.logOut(place, never);
  assert.equal(await login.readAccount(place, never), undefined);
  await link(place, "gateway");
  assert.equal(await keyAtModel(place, `${model.url}/v1`), `Bearer ${canary}`);
});
