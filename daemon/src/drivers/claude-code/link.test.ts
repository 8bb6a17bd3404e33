// Linked secrets in the real Claude Code: the requests that it sends with them, and where they are.
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { existsSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openClaudeHost, type ClaudeHost } from "@hawser/testkit/claude-host.ts";
import { startCloudRecorder } from "@hawser/testkit/cloud-recorder.ts";
import { placeIn, policy, promptOf } from "@hawser/testkit/conformance/bench.ts";
import { never } from "@hawser/testkit/conformance/recording.ts";
import { listProcesses } from "@hawser/testkit/processes.ts";
import { until } from "@hawser/testkit/until.ts";
import type { Environment } from "../../environment.ts";
import type { AgentEvent } from "../driver.ts";
import type { Access } from "../login.ts";
import type { Step } from "../scripted/script.ts";
import { accessOf } from "./access.ts";
import { createClaudeLogin } from "./login.ts";

const canary = "sk-canary-claude-0123456789";
const none = { baseUrl: null, region: null, projectId: null };

let host: ClaudeHost;
before(async () => {
  host = await openClaudeHost();
});
after(() => host[Symbol.asyncDispose]());

let places = 0;
function makePlace() {
  // The quote and the space test that the path is passed to a shell as it is.
  const place = join(host.folder, `ada's place ${++places}`);
  const [home, temporary] = [join(place, "home"), join(place, "tmp")];
  for (const path of [home, temporary]) mkdirSync(path, { recursive: true, mode: 0o700 });
  return { home, temporary };
}

const login = () =>
  createClaudeLogin({
    program: () => ({ path: host.program, version: "2.1.197" }),
    environment: { HOME: host.home },
  });

interface Linked {
  access: Access;
  secret?: string;
  environment?: Environment;
  steps?: Step[];
  /** Called during the turn. */
  during?: () => void | Promise<void>;
}

/** Links a secret, and plays a turn with it. */
async function play({ access, secret = canary, environment = {}, steps, during }: Linked) {
  const place = makePlace();
  await login().link(place, { ...access, secret }, never);
  const driver = host.openDriver({
    environment: {
      HOME: host.folder,
      CLAUDE_CONFIG_DIR: place.home,
      NO_PROXY: "127.0.0.1",
      ...environment,
    },
    access: () => accessOf(place.home, access),
  });
  const { authenticated, problems } = await driver.readState(never);
  assert.deepEqual([authenticated, problems], [true, []]);
  const events: AgentEvent[] = [];
  const wanted = placeIn(host.makeRepository(), {
    sessionId: `link-${places}-${process.pid}`,
    title: null,
    policy: { ...policy, allowedCommands: ["env"] },
  });
  const session = await driver.start(wanted, (event) => events.push(event), never);
  const prompt = promptOf(steps ?? [{ text: "Hello." }]);
  await session.prompt(prompt, never);
  await during?.();
  const end = () => events.find((event) => event.type === "turn_ended");
  await until("the turn is over", () => end() !== undefined, 60_000);
  await driver.close();
  return { place, outcome: end()!.outcome, events };
}

const env: Step = { calls: [{ tool: "Bash", input: { command: "env", description: "x" } }] };

/** Whether the secret is in a command line or the environment of a process. */
const isShown = (secret: string) =>
  listProcesses().some(({ command, environment }) =>
    [command, ...environment].some((text) => text.includes(secret)),
  );

test("a gateway is asked with the linked key, which no process shows", async () => {
  const access: Access = { ...none, way: "gateway", baseUrl: host.model.url };
  let wasShown = true;
  const { place, outcome, events } = await play({
    access,
    steps: [{ text: "Slowly.", delayMs: 1_000 }, env, { text: "Seen." }],
    during: () => void (wasShown = isShown(canary)),
  });
  assert.equal(outcome, "completed", JSON.stringify(events));
  const { authorization, apiKey } = host.model.requests.at(-1)!;
  assert.deepEqual([authorization, apiKey], [`Bearer ${canary}`, canary]);
  assert.equal(wasShown, false);
  assert.ok(!JSON.stringify(events).includes(canary), "a command saw the key");
  const file = join(place.home, "linked-secret");
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const unnamed = { account: null, plan: null };
  assert.deepEqual(await login().readAccount(place, never), unnamed);
  await login().logOut(place, never);
  assert.equal(existsSync(file), false);
  assert.equal(await login().readAccount(place, never), undefined);
});

test("Bedrock is asked with the linked key in the region", async () => {
  const region = "eu-central-1";
  const runtime = `bedrock-runtime.${region}.amazonaws.com`;
  await using cloud = await startCloudRecorder([runtime, `bedrock.${region}.amazonaws.com`]);
  const { outcome } = await play({
    access: { ...none, way: "bedrock", region },
    environment: cloud.environment,
  });
  assert.equal(outcome, "failed");
  const asked = cloud.requests.find(({ line }) => line.startsWith(`POST ${runtime}/model/`));
  assert.match(asked!.line, /\/model\/[^/]*anthropic[^/]*\/invoke/);
  assert.equal(asked!.authorization, `Bearer ${canary}`);
});

test("Vertex is asked with a token for the linked credentials, in the project and region", async () => {
  const [issuer, models] = ["oauth2.googleapis.com", "europe-west1-aiplatform.googleapis.com"];
  const token = { access_token: "token-of-google", token_type: "Bearer", expires_in: 3600 };
  await using cloud = await startCloudRecorder([issuer, models], {
    [`POST ${issuer}/token`]: token,
  });
  const { privateKey } = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  const credentials = {
    type: "service_account",
    project_id: "acme-models",
    private_key_id: "1",
    private_key: privateKey,
    client_email: "agents@acme-models.iam.gserviceaccount.com",
    client_id: "1",
  };
  const { outcome } = await play({
    access: { way: "vertex", baseUrl: null, region: "europe-west1", projectId: "acme-models" },
    secret: JSON.stringify(credentials),
    environment: cloud.environment,
  });
  assert.equal(outcome, "failed");
  const asked = cloud.requests.find(({ line }) => line.includes("/publishers/anthropic/models/"));
  const path = `${models}/v1/projects/acme-models/locations/europe-west1/publishers/anthropic/`;
  assert.ok(asked!.line.startsWith(`POST ${path}`), asked!.line);
  assert.equal(asked!.authorization, "Bearer token-of-google");
});
