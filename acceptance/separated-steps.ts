// Steps of scenarios about separated hosts: a host with the real Claude Code and codex whose agents run as Unix
// users of their own, and two members with linked accounts.
import { after } from "node:test";
import type { LinkableKind } from "@hawser/contract";
import type { Caller } from "@hawser/testkit/caller.ts";
import { isRoot } from "@hawser/testkit/clean-user.ts";
import { startCuttingProxy, type CuttingProxy } from "@hawser/testkit/cutting-proxy.ts";
import { installSeparatedHost, type SeparatedHost } from "@hawser/testkit/separated-host.ts";
import { addMember, firstKeys, sealedFor } from "./account-steps.ts";
import { until, type Context } from "./scenario.ts";
import { logOf, outcomeOf, untilEnd, updatesOf } from "./session-steps.ts";

export interface SeparatedStage extends AsyncDisposable {
  host: SeparatedHost;
  /** Two members. Their users are `<name>-1` and `<name>-2`, in the order in which they link accounts. */
  ada: Caller;
  bo: Caller;
  /** All that the host sends goes through it. */
  proxy: CuttingProxy;
}

export const separatedKinds = ["claude_code", "codex"] as const;

/** Opens the stage for the first scenario of this file, and removes the host after the last. */
export function useSeparatedHost(): (context: Context) => Promise<SeparatedStage> {
  if (!isRoot) throw new Error("These scenarios make Unix users, so they need root.");
  let stage: Promise<SeparatedStage> | undefined;
  after(async () => (await stage)?.[Symbol.asyncDispose]());
  return (context) => (stage ??= openStage(context));
}

async function openStage({ caller, world }: Context): Promise<SeparatedStage> {
  await using parts = new AsyncDisposableStack();
  const proxy = parts.use(await startCuttingProxy({ port: Number(new URL(world.baseUrl).port) }));
  const serverUrl = `http://127.0.0.1:${proxy.port}`;
  const host = parts.use(await installSeparatedHost({ caller, kinds: separatedKinds, serverUrl }));
  await caller.update_settings({ allowedLogins: ["api_key", "gateway"] });
  const [ada, bo] = [await addMember(caller, world, "ada"), await addMember(caller, world, "bo")];
  for (const person of [ada, bo]) {
    await person.revoke_api_key({ apiKeyId: firstKeys.get(person)! });
  }
  const owned = parts.move();
  return { host, ada, bo, proxy, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Links the scripted model as a person's account. */
export async function linkModel(
  { world }: Context,
  { host }: SeparatedStage,
  person: Caller,
  kind: LinkableKind,
) {
  const url = world.model!.url;
  const baseUrl = kind === "codex" ? `${url}/v1` : url;
  const { user } = await person.whoami({});
  const linked = { kind, way: "gateway" as const, baseUrl, secret: secretOf(user!.userId) };
  return person.link_agent_identity(await sealedFor({ host }, person, linked));
}

export const secretOf = (userId: string) => `canary-of-${userId}-0123456789`;

export async function startIn({ host }: SeparatedStage, person: Caller, agentKind: LinkableKind) {
  const { instanceId, repository: directory } = host;
  const started = await person.start_session({ instanceId, directory, agentKind });
  return { ...started, directory: started.directory! };
}

/** The log entry of a shell command in the session, when it has ended. */
export async function runShell(person: Caller, sessionId: string, command: string) {
  const { shellId } = await person.run_shell({ sessionId, command });
  const find = async () =>
    updatesOf(await logOf(person, sessionId), "shell").find((entry) => entry.shellId === shellId);
  const found = await until("the command has ended", 20_000, find, (each) => each !== undefined);
  return found!;
}

/** The outcome of a turn with this prompt. */
export async function turnOf(person: Caller, sessionId: string, text: string) {
  const { turnId } = await person.send_prompt({ sessionId, text });
  return outcomeOf(await untilEnd(person, sessionId, turnId));
}
