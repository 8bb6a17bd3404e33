// What the actions on a host's agents and on its daemon do.
import { notFound, parseId, type AgentKind, type agentActions } from "@hawser/contract";
import type { CommandResultOf, HostCommand, PayloadOf } from "@hawser/host-protocol";
import { actorOf } from "../dispatch/caller.ts";
import type { AskContext, ChangeContext, HandlersFor } from "../dispatch/handler.ts";
import type { HostAsker } from "../fabric/host-asker.ts";
import { selectStatus } from "../hosts/store.ts";
import type { NotYet } from "../not-yet.ts";

export interface AgentServices {
  hosts: HostAsker;
}

/** How long a caller waits for an install that may be quick; then it goes on without them. */
const installWaitMs = 8_000;

export const agentHandlers: HandlersFor<typeof agentActions, AgentServices, NotYet> = {
  restart_opencode: {
    prepare: findHost,
    ask: (context, { instanceId }, intent) =>
      askHost(context, instanceId, "restart_agent", { kind: "opencode" }, intent),
    conclude: (_context, { instanceId }, _intent, answer) =>
      Promise.resolve(restartOutcome(instanceId, "opencode", answer)),
  },

  restart_agent_kind: {
    prepare: findHost,
    ask: (context, { instanceId, kind }, intent) =>
      askHost(context, instanceId, "restart_agent", { kind }, intent),
    conclude: (_context, { instanceId, kind }, _intent, answer) =>
      Promise.resolve(restartOutcome(instanceId, kind, answer)),
  },

  update_agent: {
    prepare: findHost,
    ask: (context, { instanceId }, intent) =>
      askHost(context, instanceId, "update_daemon", {}, intent),
    conclude(_context, { instanceId }, _intent, answer) {
      const { status, version } = answer as CommandResultOf<"update_daemon">;
      const message =
        status === "installed"
          ? `The daemon is version ${version}, which is the published one.`
          : `The host is replacing its daemon by version ${version}. get_instance shows how far it is, and why if it fails.`;
      return Promise.resolve({ instanceId, status, version, message });
    },
  },

  update_opencode: {
    prepare: findHost,
    ask: (context, { instanceId }, intent) =>
      askHost(context, instanceId, "install_agent", { kind: "opencode", waitMs: 0 }, intent),
    conclude: (_context, { instanceId }, _intent, answer) =>
      Promise.resolve(installOutcome(instanceId, "opencode", answer)),
  },

  install_agent_kind: {
    prepare: findHost,
    ask: askForKind,
    conclude: (_context, { instanceId, kind }, _intent, answer) =>
      Promise.resolve(
        answer === undefined
          ? notApplicable(instanceId, "Pairing installs opencode; update_opencode brings it back.")
          : installOutcome(instanceId, kind, answer),
      ),
  },

  update_agent_kind: {
    prepare: findHost,
    ask: askForKind,
    conclude: (_context, { instanceId, kind }, _intent, answer) =>
      Promise.resolve(
        answer === undefined
          ? notApplicable(instanceId, "opencode has update_opencode and restart_opencode instead.")
          : installOutcome(instanceId, kind, answer),
      ),
  },
};

async function findHost({ sql }: ChangeContext, { instanceId }: { instanceId: string }) {
  const id = parseId("instance", instanceId);
  const row = id && (await sql.first(selectStatus, sql.organizationId, id));
  if (!row) throw notFound("instance");
  return { isOnline: row.status === "online" };
}

function askHost<Name extends HostCommand>(
  { hosts, caller, commandId, resumed, signal }: AskContext & AgentServices,
  instanceId: string,
  command: Name,
  payload: PayloadOf<Name>,
  intent: unknown,
): Promise<CommandResultOf<Name>> {
  const asking = { commandId, actor: actorOf(caller), resumed, signal };
  return hosts.ask(instanceId, command, payload, {
    ...asking,
    ...(intent as { isOnline: boolean }),
  });
}

/** Nothing for opencode, which has actions of its own: its host is not asked. */
async function askForKind(
  context: AskContext & AgentServices,
  { instanceId, kind }: { instanceId: string; kind: AgentKind },
  intent: unknown,
) {
  if (kind === "opencode") return undefined;
  const payload = { kind, waitMs: installWaitMs };
  return askHost(context, instanceId, "install_agent", payload, intent);
}

function restartOutcome(instanceId: string, kind: AgentKind, answer: unknown) {
  const { detachedSessionIds } = answer as CommandResultOf<"restart_agent">;
  return { instanceId, kind, detachedSessionIds };
}

const notApplicable = (instanceId: string, message: string) =>
  ({ instanceId, status: "not_applicable", version: null, message }) as const;

function installOutcome(instanceId: string, kind: AgentKind, answer: unknown) {
  const { status, version } = answer as CommandResultOf<"install_agent">;
  const message =
    status === "installed"
      ? `The host has ${kind} ${version}, which is the version the service ships.`
      : `The host is installing ${kind} ${version}. get_instance shows how far it is, and why if it fails.`;
  return { instanceId, status, version, message };
}
