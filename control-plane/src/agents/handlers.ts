// What the actions on a host's agents and on its daemon do.
import { notFound, parseId, type agentActions } from "@hawser/contract";
import type { CommandResultOf } from "@hawser/host-protocol";
import { actorOf } from "../dispatch/caller.ts";
import type { HandlersFor } from "../dispatch/handler.ts";
import type { HostAsker } from "../fabric/host-asker.ts";
import { selectStatus } from "../instances/store.ts";
import type { NotYet } from "../not-yet.ts";

export interface AgentServices {
  hosts: HostAsker;
}

export const agentHandlers: HandlersFor<typeof agentActions, AgentServices, NotYet> = {
  update_agent: {
    async prepare({ sql }, { instanceId }) {
      const id = parseId("instance", instanceId);
      const row = id && (await sql.first(selectStatus, sql.organizationId, id));
      if (!row) throw notFound("instance");
      return { isOnline: row.status === "online" };
    },
    ask: ({ hosts, caller, commandId, resumed, signal }, { instanceId }, intent) =>
      hosts.ask(
        instanceId,
        "update_daemon",
        {},
        {
          commandId,
          actor: actorOf(caller),
          resumed,
          signal,
          ...(intent as { isOnline: boolean }),
        },
      ),
    conclude(_context, { instanceId }, _intent, answer) {
      const { status, version } = answer as CommandResultOf<"update_daemon">;
      return Promise.resolve({ instanceId, status, version, message: said[status](version) });
    },
  },
};

const said = {
  installed: (version: string) => `The daemon is version ${version}, which is the published one.`,
  in_progress: (version: string) =>
    `The host is replacing its daemon by version ${version}. get_instance shows how far it is, and why if it fails.`,
};
