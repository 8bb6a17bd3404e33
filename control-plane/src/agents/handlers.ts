// What the actions on a host's agents and on its daemon do.
import type { AgentKind, agentActions } from "@hawser/contract";
import type { CommandResultOf } from "@hawser/host-protocol";
import {
  onHost,
  type AskContext,
  type ChangeContext,
  type HandlersFor,
} from "../dispatch/handler.ts";
import { askHost, findHost, type HostServices } from "../hosts/ask-host.ts";

/** How long a caller waits for an install, which may be quick. The install continues after that. */
const installWaitMs = 8_000;

/** The fallback chain is part of the instance's record, and its action is in instances/. */
type AgentActions = Omit<typeof agentActions, "set_fallback_chain">;

export const agentHandlers: HandlersFor<AgentActions, HostServices> = {
  restart_opencode: onHost({
    prepare: findInstance,
    ask: (context, { instanceId }, { isOnline }) =>
      askHost(context, { instanceId, isOnline }, "restart_agent", { kind: "opencode" }),
    conclude: (_context, { instanceId }, _intent, { detachedSessionIds }) => ({
      instanceId,
      kind: "opencode",
      detachedSessionIds,
    }),
  }),

  restart_agent_kind: onHost({
    prepare: findInstance,
    ask: (context, { instanceId, kind }, { isOnline }) =>
      askHost(context, { instanceId, isOnline }, "restart_agent", { kind }),
    conclude: (_context, { instanceId, kind }, _intent, { detachedSessionIds }) => ({
      instanceId,
      kind,
      detachedSessionIds,
    }),
  }),

  update_agent: onHost({
    prepare: findInstance,
    ask: (context, { instanceId }, { isOnline }) =>
      askHost(context, { instanceId, isOnline }, "update_daemon", {}),
    conclude(_context, { instanceId }, _intent, { status, version }) {
      const message =
        status === "installed"
          ? `The daemon has version ${version}, which is the published version.`
          : `The host is replacing its daemon by version ${version}. get_instance shows the progress, and the reason if it fails.`;
      return { instanceId, status, version, message };
    },
  }),

  update_opencode: onHost({
    prepare: findInstance,
    ask: (context, { instanceId }, { isOnline }) =>
      askHost(context, { instanceId, isOnline }, "install_agent", { kind: "opencode", waitMs: 0 }),
    conclude: (_context, { instanceId }, _intent, installed) =>
      installOutcome(instanceId, "opencode", installed),
  }),

  install_agent_kind: onHost({
    prepare: findInstance,
    ask: askToInstall,
    conclude: (_context, { instanceId, kind }, _intent, installed) =>
      installed
        ? installOutcome(instanceId, kind, installed)
        : notApplicable(instanceId, "Pairing installs opencode; update_opencode reinstalls it."),
  }),

  update_agent_kind: onHost({
    prepare: findInstance,
    ask: askToInstall,
    conclude: (_context, { instanceId, kind }, _intent, installed) =>
      installed
        ? installOutcome(instanceId, kind, installed)
        : notApplicable(instanceId, "opencode has update_opencode and restart_opencode instead."),
  }),
};

async function findInstance({ sql }: ChangeContext, { instanceId }: { instanceId: string }) {
  const { isOnline } = await findHost(sql, instanceId);
  return { isOnline };
}

type Installed = CommandResultOf<"install_agent">;

/** Undefined for opencode, which has its own actions; the host is not asked then. */
async function askToInstall(
  context: AskContext & HostServices,
  { instanceId, kind }: { instanceId: string; kind: AgentKind },
  { isOnline }: { isOnline: boolean },
): Promise<Installed | undefined> {
  if (kind === "opencode") return undefined;
  return askHost(context, { instanceId, isOnline }, "install_agent", {
    kind,
    waitMs: installWaitMs,
  });
}

const notApplicable = (instanceId: string, message: string) =>
  ({ instanceId, status: "not_applicable", version: null, message }) as const;

function installOutcome(instanceId: string, kind: AgentKind, { status, version }: Installed) {
  const message =
    status === "installed"
      ? `The host has ${kind} ${version}, which is the version the service ships.`
      : `The host is installing ${kind} ${version}. get_instance shows the progress, and the reason if it fails.`;
  return { instanceId, status, version, message };
}
