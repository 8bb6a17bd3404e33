// Logins of people on a host whose agents run as Unix users of their own, with the real programs and issuers on
// loopback.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Caller } from "@hawser/testkit/caller.ts";
import { startClaudeIssuer } from "@hawser/testkit/claude-issuer.ts";
import { startCodexIssuer } from "@hawser/testkit/codex-issuer.ts";
import { wrapCodex } from "@hawser/testkit/codex-program.ts";
import { installSeparatedHost } from "@hawser/testkit/separated-host.ts";
import { addMember, firstKeys, loginAtModel } from "../account-steps.ts";
import { assertRefused } from "../refusal.ts";
import { scenario, until, useWorld, type Context } from "../scenario.ts";

useWorld({ agents: ["claude_code", "codex"], nats: 1, releases: true });

type Stage = Awaited<ReturnType<typeof openStage>>;
let stage: Promise<Stage> | undefined;
after(async () => (await stage)?.parts.disposeAsync());
const open = (context: Context) => (stage ??= openStage(context));

async function openStage({ caller, world }: Context) {
  await using parts = new AsyncDisposableStack();
  const claude = parts.use(await startClaudeIssuer({ modelUrl: world.model!.url }));
  const codex = parts.use(await startCodexIssuer());
  const kinds = ["claude_code", "codex"] as const;
  const host = parts.use(
    await installSeparatedHost({ caller, kinds, environment: claude.environment }),
  );
  wrapCodex({ stateDirectory: host.directory }, codex);
  await caller.update_settings({ allowedLogins: ["subscription"] });
  const people = [];
  for (const [index, name] of ["ada", "bo"].entries()) {
    const person = await addMember(caller, world, name);
    await person.revoke_api_key({ apiKeyId: firstKeys.get(person)! });
    people.push({ person, email: `${name}@example.test`, user: `${host.name}-${index + 1}` });
  }
  return { host, claude, codex, people, parts: parts.move() };
}

async function logIn(
  { world }: Context,
  { host, codex, people }: Stage,
  who: Stage["people"][number],
) {
  const { instanceId } = host;
  const { person, email, user } = who;
  // The first attempt gives the person a user, whose codex is then pointed at the scripted model.
  const first = await person.start_agent_login({ instanceId, kind: "codex" });
  assert.equal(first.status, "pending");
  // N5: the attempt of one person does not exist for another.
  const { loginId: foreign } = first;
  for (const other of people.filter((each) => each.person !== person)) {
    assertRefused(
      await other.person.try("poll_agent_login", { loginId: foreign }),
      404,
      "not_found",
    );
    const code = { loginId: foreign, code: "1234" };
    assertRefused(await other.person.try("submit_agent_login", code), 404, "not_found");
  }
  const homes = join(host.homeOf(user), ".hawser/homes", instanceId);
  const home = join(homes, readdirSync(homes)[0]!, "codex/home");
  mkdirSync(home, { recursive: true });
  codex.writeHome(home, world.model!.url);
  execFileSync("chown", ["-R", `${user}:`, homes]);
  const { userCode, loginId } = await person.start_agent_login({ instanceId, kind: "codex" });
  codex.approve(userCode!, { email, plan: "pro" });
  const poll = () => person.poll_agent_login({ loginId });
  const done = await until("it is done", 30_000, poll, ({ status }) => status !== "pending");
  assert.deepEqual([done.status, done.account], ["done", email]);
}

const startIn = async ({ host }: Stage, person: Caller, agentKind: "codex" | "claude_code") => {
  const { instanceId, repository: directory } = host;
  return (await person.start_session({ instanceId, directory, agentKind })).sessionId;
};

scenario(
  "N1, N5: 24 sessions of two people with separate Unix users go on while each login is renewed once",
  [],
  async (context) => {
    const current = await open(context);
    const { host, codex, people } = current;
    // Codex renews a login whose token is good for less than five minutes.
    codex.settings.accessTokenSeconds = 330;
    for (const who of people) await logIn(context, current, who);
    codex.settings.accessTokenSeconds = 3600;
    const linkedAt = Date.now();
    const sessions = await Promise.all(
      people.flatMap(({ person, email }) =>
        Array.from({ length: 12 }, async () => {
          return { person, email, sessionId: await startIn(current, person, "codex") };
        }),
      ),
    );
    await sleep(Math.max(0, linkedAt + 35_000 - Date.now()));
    const used = await Promise.all(
      sessions.map(async ({ person, email, sessionId }) => {
        const authorization = await loginAtModel(context, person, sessionId);
        return [email, codex.grantOf(authorization)?.email];
      }),
    );
    for (const [wanted, found] of used) assert.equal(found, wanted);
    assert.deepEqual(
      codex.grants.map(({ email, refreshes, reuses }) => [email, refreshes, reuses]),
      people.map(({ email }) => [email, 1, 0]),
    );
    const { instanceId } = host;
    const listed = await context.caller.list_agent_identities({ instanceId, all: true });
    assert.equal(listed.identities.length, 2);
    assert.ok(listed.identities.every(({ authenticated }) => authenticated));
    for (const { user } of people) {
      const agents = host.processesOf(user).filter(({ command }) => command.includes("app-server"));
      assert.equal(agents.length, 1, `one codex runs as ${user}`);
    }
    for (const { person, sessionId } of sessions) await person.end_session({ sessionId });
  },
);

scenario(
  "N7: Claude Code's login works as a Unix user of the person's own, and ends with the membership",
  [],
  async (context) => {
    const current = await open(context);
    const { host, claude, people } = current;
    const { instanceId } = host;
    const { person, email, user } = people[0]!;
    const started = await person.start_agent_login({ instanceId, kind: "claude_code", email });
    const code = claude.authorize(started.authorizationUrl, { email });
    const done = await person.submit_agent_login({ loginId: started.loginId, code });
    assert.deepEqual([done.status, done.account], ["done", email]);
    const sessionId = await startIn(current, person, "claude_code");
    assert.match((await loginAtModel(context, person, sessionId))!, /^Bearer /);
    const { user: self } = await person.whoami({});
    await context.caller.remove_member({ userId: self!.userId });
    const homes = join(host.homeOf(user), ".hawser/homes", instanceId);
    const isEmpty = async () => {
      try {
        const files = readdirSync(homes, { recursive: true, withFileTypes: true });
        return !files.some((each) => each.isFile());
      } catch (error) {
        // A directory was removed while it was read.
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
        throw error;
      }
    };
    await until("no login is left", 10_000, isEmpty, (empty) => empty);
    const agents = async () =>
      host.processesOf(user).filter(({ command }) => /\/claude |app-server/.test(command));
    await until("no agent is left", 5_000, agents, (found) => found.length === 0);
    assert.ok(claude.grants.at(-1)!.revoked);
  },
);
