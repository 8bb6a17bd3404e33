// Steps of scenarios about agent accounts: a host with the real Claude Code and codex, whose makers' services are
// played on loopback, two members, logging them in and linking their secrets.
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after } from "node:test";
import { roles, seal, type LinkWay, type LinkableKind } from "@hawser/contract";
import type { Caller } from "@hawser/testkit/caller.ts";
import { startClaudeIssuer, type ClaudeIssuer } from "@hawser/testkit/claude-issuer.ts";
import { startCodexIssuer, type CodexIssuer } from "@hawser/testkit/codex-issuer.ts";
import { prepareAccount, wrapCodex } from "@hawser/testkit/codex-program.ts";
import { writePolicy, type TestHost } from "@hawser/testkit/host.ts";
import { until, type Context } from "./scenario.ts";
import { outcomeOf, scripted, untilEnd } from "./session-steps.ts";

export interface Stage {
  host: TestHost;
  claude: ClaudeIssuer;
  codex: CodexIssuer;
  /** Two members of the organization, each with a key of their own. */
  ada: Caller;
  bo: Caller;
}

/** Opens the stage for the first scenario of this file, and closes the stand-ins after the last. */
export function useAccounts(): (context: Context) => Promise<Stage> {
  let stage: Promise<Stage> | undefined;
  after(async () => {
    const opened = await stage;
    await opened?.claude[Symbol.asyncDispose]();
    await opened?.codex[Symbol.asyncDispose]();
  });
  return (context) => (stage ??= openStage(context));
}

/** A host with both agents, whose login programs reach the stand-ins. */
async function openStage({ world, caller }: Context): Promise<Stage> {
  const modelUrl = world.model!.url;
  const claude = await startClaudeIssuer({ modelUrl });
  const codex = await startCodexIssuer();
  const host = await world.addHost({ environment: claude.environment });
  wrapCodex(host, codex);
  shareLogins(host, true);
  const allowedLogins = ["subscription", "api_key", "gateway", "cloud"] as const;
  await caller.update_settings({ allowedLogins: [...allowedLogins] });
  return {
    host,
    claude,
    codex,
    ada: await addMember(caller, world, "ada"),
    bo: await addMember(caller, world, "bo"),
  };
}

export function shareLogins(host: TestHost, isAllowed: boolean): void {
  const lines = [`root = ${host.root}`, `shared-logins = ${isAllowed ? "yes" : "no"}`];
  writePolicy(host, `${lines.join("\n")}\n`);
}

/** A member with a key of their own making, and the first key, which somebody else made. */
export async function addMember(
  caller: Caller,
  world: Context["world"],
  name: string,
): Promise<Caller> {
  const member = await caller.add_member({ email: `${name}@example.test`, role: "member" });
  const permissions = [...roles.member];
  const key = { name, scope: "user" as const, permissions };
  const first = await caller.create_api_key({ ...key, userId: member.userId });
  const own = await world.callerFor(first.key).create_api_key(key);
  const person = world.callerFor(own.key);
  firstKeys.set(person, first.apiKey.apiKeyId);
  return person;
}

export const firstKeys = new Map<Caller, string>();

/** Where the host keeps a person's account. */
export async function placeOf(
  { host }: Stage,
  person: Caller,
  kind: LinkableKind,
): Promise<string> {
  const { user } = await person.whoami({});
  const homes = join(host.stateDirectory, "homes", host.instanceId);
  const owner = existsSync(homes)
    ? readdirSync(homes).find((name) => name.startsWith(`${user!.userId}.`))
    : undefined;
  return join(homes, owner ?? "none", kind);
}

export async function linkClaude({ host, claude }: Stage, person: Caller, email: string) {
  const { instanceId } = host;
  const started = await person.start_agent_login({ instanceId, kind: "claude_code", email });
  const code = claude.authorize(started.authorizationUrl, { email });
  return { started, done: await person.submit_agent_login({ loginId: started.loginId, code }) };
}

/** Points the codex of a person's account, which is not linked yet, at the scripted model. */
export async function prepareCodex(
  { world, caller }: Context,
  { host, codex }: Stage,
  person: Caller,
): Promise<void> {
  const { user } = await person.whoami({});
  const { members } = await caller.list_members({});
  const member = members.find(({ userId }) => userId === user!.userId)!;
  prepareAccount(host, codex, member, world.model!.url);
}

export interface Linked {
  kind: LinkableKind;
  way: LinkWay;
  secret: string;
  baseUrl?: string;
  region?: string;
  projectId?: string;
}

/** The input of link_agent_identity, with the secret sealed for the host. */
export async function sealedFor(
  { host }: { host: { instanceId: string } },
  person: Caller,
  { secret, ...rest }: Linked,
) {
  const { instanceId } = host;
  const { user } = await person.whoami({});
  const { sealingKey } = await person.list_agent_identities({ instanceId });
  const sealed = { userId: user!.userId, ...rest, secret };
  return { instanceId, ...rest, sealedSecret: await seal(sealingKey!, sealed) };
}

export async function linkCodex(context: Context, current: Stage, person: Caller, email: string) {
  const { host, codex } = current;
  const { instanceId } = host;
  await prepareCodex(context, current, person);
  const started = await person.start_agent_login({ instanceId, kind: "codex" });
  codex.approve(started.userCode!, { email, plan: "pro" });
  const poll = () => person.poll_agent_login({ loginId: started.loginId });
  const done = await until("it is done", 30_000, poll, ({ status }) => status !== "pending");
  return { started, done };
}

export const lastGrant = <Grant extends { email: string }>(
  grants: readonly Grant[],
  email: string,
) => grants.findLast((grant) => grant.email === email)!;

/**
 * Runs a turn, and returns the Authorization header with which the agent asked the model. `during` is called while
 * the model answers.
 */
export async function loginAtModel(
  { world }: Context,
  caller: Caller,
  sessionId: string,
  during?: () => Promise<void>,
) {
  const words = `whose login ${sessionId} ${Math.random()}`;
  const slow = during ? { delayMs: 1_500 } : {};
  const { turnId } = await caller.send_prompt({
    sessionId,
    text: scripted(words, { text: "Hi.", ...slow }),
  });
  if (during) {
    const isAsked = async () => world.model!.requests.some(({ prompt }) => prompt.includes(words));
    await until("the model is asked", 20_000, isAsked, (asked) => asked);
    await during();
  }
  assert.equal(outcomeOf(await untilEnd(caller, sessionId, turnId)), "completed");
  const asked = world.model!.requests.findLast(({ prompt }) => prompt.includes(words));
  return asked?.authorization;
}
