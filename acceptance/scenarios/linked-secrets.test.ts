// Secrets that people link as their agent accounts. The headers at the model show which secret a session uses, and
// nothing else shows one.
import assert from "node:assert/strict";
import { existsSync, readdirSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { LinkWay, LinkableKind } from "@hawser/contract";
import type { Caller } from "@hawser/testkit/caller.ts";
import { dumpDatabase } from "@hawser/testkit/database-dump.ts";
import { listProcesses } from "@hawser/testkit/processes.ts";
import {
  firstKeys,
  linkClaude,
  loginAtModel,
  placeOf,
  prepareCodex,
  sealedFor,
  shareLogins,
  useAccounts,
  type Linked,
  type Stage,
} from "../account-steps.ts";
import { assertRefused } from "../refusal.ts";
import { scenario, useWorld } from "../scenario.ts";
import { startSession } from "../session-steps.ts";

useWorld({ agents: ["claude_code", "codex"], nats: 1 });
const open = useAccounts();

const secrets = {
  claudeKey: "sk-ant-canary-0123456789-aaaa",
  claudeGateway: "gateway-canary-0123456789-bbbb",
  codexKey: "sk-canary-codex-0123456789-cccc",
  codexGateway: "gateway-canary-codex-0123456789-dddd",
  bedrock: "bedrock-canary-0123456789-eeee",
};
/** Sealed texts that were sent. */
const sent: string[] = [];

async function link(current: Stage, person: Caller, linked: Linked) {
  const input = await sealedFor(current, person, linked);
  sent.push(input.sealedSecret);
  return person.link_agent_identity(input);
}

/** No command line and no environment of a process contains a secret. */
async function assertNoProcessShows(): Promise<void> {
  for (const { command, environment } of listProcesses()) {
    for (const text of [command, ...environment]) {
      for (const secret of Object.values(secrets)) {
        assert.ok(!text.includes(secret), `${command.slice(0, 80)} shows a secret`);
      }
    }
  }
}

/** The host's files that contain one of the texts. */
async function filesWith({ host }: Stage, ...texts: string[]): Promise<string[]> {
  const found: string[] = [];
  for (const name of readdirSync(host.stateDirectory, { recursive: true, encoding: "utf8" })) {
    const path = join(host.stateDirectory, name);
    // The programs of agents are large, and no daemon writes into them.
    if (name.startsWith("agents/") || !statSync(path, { throwIfNoEntry: false })?.isFile())
      continue;
    const content = await readFile(path, "latin1");
    if (texts.some((text) => content.includes(text))) found.push(path);
  }
  return found;
}

const identityOf = async ({ host }: Stage, person: Caller, kind: LinkableKind) => {
  const { instanceId } = host;
  const { identities } = await person.list_agent_identities({ instanceId });
  return identities.find((each) => each.kind === kind);
};

scenario(
  "A secret needs the consent of the organization and of the host's owner, and keys of the user's own making",
  [],
  async (context) => {
    const { caller } = context;
    const current = await open(context);
    const { host, ada, bo } = current;
    const key: Linked = { kind: "claude_code", way: "api_key", secret: secrets.claudeKey };
    const input = await sealedFor(current, ada, key);
    const outcome = (person: Caller, more: object = {}) =>
      person.try("link_agent_identity", { ...input, ...more });
    assertRefused(await outcome(caller), 409, "user_key_required");
    assertRefused(await outcome(ada), 409, "login_not_allowed");
    for (const person of [ada, bo]) {
      await person.revoke_api_key({ apiKeyId: firstKeys.get(person)! });
    }
    await caller.update_settings({ allowedLogins: ["subscription", "gateway", "cloud"] });
    const refused = assertRefused(await outcome(ada), 409, "login_not_allowed");
    assert.equal(refused.nextAction, "update_settings");
    const all = ["subscription", "api_key", "gateway", "cloud"] as const;
    await caller.update_settings({ allowedLogins: [...all] });
    shareLogins(host, false);
    const { message } = assertRefused(await outcome(ada), 409, "host_refused");
    assert.match(message, /shared-logins = yes/);
    shareLogins(host, true);
    // Somebody who has seen the sealed text cannot link it, and it is good for one kind only.
    const stolen = assertRefused(await outcome(bo), 409, "login_failed");
    const other = assertRefused(await outcome(ada, { kind: "codex" }), 409, "login_failed");
    const broken = input.sealedSecret.slice(0, -2);
    const cut = assertRefused(await outcome(ada, { sealedSecret: broken }), 409, "login_failed");
    assert.deepEqual([other.message, cut.message], [stolen.message, stolen.message]);
    const vertex = { kind: "codex", way: "vertex", region: "europe-west1", projectId: "acme" };
    assertRefused(await outcome(ada, vertex), 400, "invalid_input");
    assertRefused(await outcome(ada, { way: "gateway" }), 400, "invalid_input");
    for (const person of [ada, bo]) {
      assert.equal(await identityOf(current, person, "claude_code"), undefined);
      assert.equal(existsSync(await placeOf(current, person, "claude_code")), false);
    }
  },
);

scenario(
  "Claude Code asks its maker with a linked key, which no process shows",
  [],
  async (context) => {
    const current = await open(context);
    const { host, claude, ada } = current;
    claude.apiKeys.add(secrets.claudeKey);
    const secret = secrets.claudeKey;
    const linked = await link(current, ada, { kind: "claude_code", way: "api_key", secret });
    const { user } = await ada.whoami({});
    assert.deepEqual(
      [linked.user.userId, linked.way, linked.account, linked.authenticated, linked.expiresAt],
      [user!.userId, "api_key", "…aaaa", true, null],
    );
    const session = await startSession(ada, host, { agentKind: "claude_code" });
    assert.equal(session.accountOf?.userId, user!.userId);
    const { sessionId } = session;
    assert.equal(
      await loginAtModel(context, ada, sessionId, assertNoProcessShows),
      `Bearer ${secret}`,
    );
    assert.equal(context.world.model!.requests.at(-1)!.apiKey, secret);
    const identity = await identityOf(current, ada, "claude_code");
    assert.deepEqual([identity!.authenticated, identity!.account], [true, "…aaaa"]);
    await ada.end_session({ sessionId });
  },
);

scenario(
  "A gateway takes the place of the key in a running session, a login that of the gateway, and a key that of the login",
  [],
  async (context) => {
    const { world } = context;
    const current = await open(context);
    const { host, claude, ada } = current;
    const { sessionId } = await startSession(ada, host, { agentKind: "claude_code" });
    assert.equal(await loginAtModel(context, ada, sessionId), `Bearer ${secrets.claudeKey}`);
    const baseUrl = world.model!.url;
    const gateway = { kind: "claude_code", way: "gateway" as LinkWay, baseUrl } as const;
    const linked = await link(current, ada, { ...gateway, secret: secrets.claudeGateway });
    assert.equal(linked.account, new URL(baseUrl).host);
    const asked = claude.requests.length;
    assert.equal(
      await loginAtModel(context, ada, sessionId, assertNoProcessShows),
      `Bearer ${secrets.claudeGateway}`,
    );
    const later = claude.requests.slice(asked).filter((line) => line.includes("/v1/messages"));
    assert.deepEqual(later, [], "the maker was asked");
    assert.deepEqual(await filesWith(current, secrets.claudeKey), []);

    const { done } = await linkClaude(current, ada, "ada@example.test");
    assert.equal(done.status, "done");
    const login = await loginAtModel(context, ada, sessionId);
    assert.match(login!, /^Bearer sk-ant-oat/);
    assert.deepEqual(await filesWith(current, secrets.claudeGateway), []);
    const identity = await identityOf(current, ada, "claude_code");
    assert.deepEqual([identity!.way, identity!.account], ["subscription", "ada@example.test"]);
    assert.notEqual(identity!.expiresAt, null);

    const secret = secrets.claudeKey;
    await link(current, ada, { kind: "claude_code", way: "api_key", secret });
    assert.ok(claude.grants.at(-1)!.revoked, "the login was not ended");
    assert.equal(await loginAtModel(context, ada, sessionId), `Bearer ${secret}`);
    assert.equal((await identityOf(current, ada, "claude_code"))!.expiresAt, null);
    await ada.end_session({ sessionId });
  },
);

scenario(
  "Codex asks its maker with a linked key, and a gateway with another",
  [],
  async (context) => {
    const { world } = context;
    const current = await open(context);
    const { host, codex, ada, bo } = current;
    await prepareCodex(context, current, ada);
    await link(current, ada, { kind: "codex", way: "api_key", secret: secrets.codexKey });
    const baseUrl = `${world.model!.url}/v1`;
    const gateway = { kind: "codex", way: "gateway" as LinkWay, baseUrl } as const;
    await link(current, bo, { ...gateway, secret: secrets.codexGateway });
    for (const [person, secret] of [
      [ada, secrets.codexKey],
      [bo, secrets.codexGateway],
    ] as const) {
      const { sessionId } = await startSession(person, host, { agentKind: "codex" });
      assert.equal(
        await loginAtModel(context, person, sessionId, assertNoProcessShows),
        `Bearer ${secret}`,
      );
      const identity = await identityOf(current, person, "codex");
      assert.deepEqual([identity!.authenticated, identity!.plan], [true, null]);
      await person.end_session({ sessionId });
    }
    assert.deepEqual(codex.grants, []);

    const bedrock = { kind: "codex", way: "bedrock" as LinkWay, region: "eu-central-1" } as const;
    const linked = await link(current, bo, { ...bedrock, secret: secrets.bedrock });
    assert.deepEqual([linked.way, linked.account], ["bedrock", "…eeee"]);
    assert.equal((await identityOf(current, bo, "codex"))!.authenticated, true);
    assert.deepEqual(await filesWith(current, secrets.codexGateway), []);
  },
);

scenario(
  "N6: secrets are only in the homes of their accounts, readable by the daemon's user, and unlinking removes them",
  [],
  async (context) => {
    const { world, caller } = context;
    const current = await open(context);
    const { host, ada, bo } = current;
    const { instanceId } = host;
    const kept: [person: Caller, kind: LinkableKind, secret: string][] = [
      [ada, "claude_code", secrets.claudeKey],
      [ada, "codex", secrets.codexKey],
      [bo, "codex", secrets.bedrock],
    ];
    for (const [person, kind, secret] of kept) {
      const place = await placeOf(current, person, kind);
      const files = await filesWith(current, secret);
      assert.equal(files.length, 1, files.join(" "));
      assert.ok(files[0]!.startsWith(`${place}/home/`), files[0]);
      assert.equal(statSync(files[0]!).mode & 0o777, 0o600);
    }
    const shown = [
      await dumpDatabase(world.database.url),
      JSON.stringify(host.log),
      JSON.stringify(await caller.list_agent_identities({ instanceId, all: true })),
      JSON.stringify(await caller.list_audit_entries({ limit: 200 })),
    ];
    assert.match(shown[3]!, /link_agent_identity/);
    for (const text of shown) {
      for (const secret of Object.values(secrets)) assert.ok(!text.includes(secret));
      for (const sealed of sent) assert.ok(!text.includes(sealed.slice(0, 200)));
    }
    // The journal records that a command ran, and not its payload.
    assert.deepEqual(await filesWith(current, ...sent.map((sealed) => sealed.slice(-60))), []);

    for (const [person, kind] of kept) {
      const place = await placeOf(current, person, kind);
      const { unlinked } = await person.unlink_agent_identity({ instanceId, kind });
      assert.equal(unlinked, true);
      assert.equal(existsSync(place), false);
    }
    assert.deepEqual(await filesWith(current, ...Object.values(secrets)), []);
    const { identities } = await caller.list_agent_identities({ instanceId, all: true });
    assert.deepEqual(identities, []);
  },
);
