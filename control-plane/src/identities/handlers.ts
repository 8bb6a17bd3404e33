// What the actions on agent accounts do. They act for the calling user.
import { parseId, type identityActions } from "@hawser/contract";
import { onHost, type HandlersFor } from "../dispatch/handler.ts";
import { askHost, findHost, type HostServices } from "../hosts/ask-host.ts";
import { linkIdentity } from "./linking.ts";
import { listAgentIdentities } from "./listing.ts";
import { pollLogin, startLogin, submitLogin } from "./logins.ts";
import { ownerIdOf, requireUser } from "./owner.ts";
import * as store from "./store.ts";

export const identityHandlers: HandlersFor<typeof identityActions, HostServices> = {
  list_agent_identities: listAgentIdentities,
  start_agent_login: startLogin,
  poll_agent_login: pollLogin,
  submit_agent_login: submitLogin,
  link_agent_identity: linkIdentity,

  unlink_agent_identity: onHost({
    async prepare({ sql, caller }, { instanceId }) {
      const host = await findHost(sql, instanceId);
      requireUser(caller);
      const begun = await sql.first(store.selectNow);
      return { ...host, ownerId: ownerIdOf(caller), begunAt: begun!.now };
    },
    ask: async (context, { kind }, { ownerId, begunAt: _begunAt, ...host }) =>
      ownerId === null
        ? { unlinked: false }
        : askHost(context, host, "unlink_identity", { ownerId, kind }),
    conclude({ sql }, { instanceId, kind }, { ownerId, begunAt }, { unlinked }) {
      const key = [sql.organizationId, parseId("instance", instanceId)!, ownerId, kind] as const;
      sql.later(store.deleteAccount, ...key, begunAt);
      sql.later(store.endLogins, ...key, begunAt, "The account was unlinked.");
      return { instanceId, kind, unlinked };
    },
  }),
};
