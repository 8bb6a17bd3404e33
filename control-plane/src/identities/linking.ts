// Linking a secret as a user's agent account. The secret is sealed for the host; the sealed text is sent there and
// stored nowhere: it is not part of the intent, which is stored.
import {
  formatId,
  parseId,
  type LinkWay,
  type LoginWay,
  type identityActions,
} from "@hawser/contract";
import { onHost, type HostHandler } from "../dispatch/handler.ts";
import { askHost, type HostServices } from "../hosts/ask-host.ts";
import { shortened } from "../postgres/shortened.ts";
import { holdOwner, requireConsent } from "./consent.ts";
import { longestText } from "./listing.ts";
import * as store from "./store.ts";

/** What an owner of the organization has to allow for each way. */
const settingOf: Record<LinkWay, LoginWay> = {
  api_key: "api_key",
  gateway: "gateway",
  bedrock: "cloud",
  vertex: "cloud",
};

export const linkIdentity: HostHandler<
  (typeof identityActions)["link_agent_identity"],
  HostServices
> = onHost({
  async prepare({ sql, caller }, { instanceId, kind, way }) {
    const setting = settingOf[way];
    const { id, userId, ownerId, name } = await requireConsent(sql, caller, instanceId, setting);
    // The host makes a home for the account now, which has to be removed if the user leaves.
    sql.later(store.keepAccount, sql.organizationId, id, ownerId, userId, kind, false);
    const begun = await sql.first(store.selectNow);
    return { instanceId, isOnline: true, userId, ownerId, name, begunAt: begun!.now };
  },
  ask(context, input, { instanceId, isOnline, ownerId }) {
    const { kind, way, sealedSecret, baseUrl = null, region = null, projectId = null } = input;
    const payload = { ownerId, kind, way, sealedSecret, baseUrl, region, projectId };
    return askHost(context, { instanceId, isOnline }, "link_identity", payload);
  },
  async conclude({ sql }, { instanceId, kind, way }, intent, answer) {
    const { userId, ownerId, name, begunAt } = intent;
    const account = shortened(answer.account, longestText);
    const place = [sql.organizationId, parseId("instance", instanceId)!] as const;
    // The user may have been removed, with the home, before the host linked the account.
    const isOwed = (await holdOwner(sql, userId))?.ownerId !== ownerId;
    sql.later(store.keepAccount, ...place, ownerId, userId, kind, isOwed);
    sql.later(store.linkSecret, ...place, ownerId, kind, way, account);
    sql.later(store.endLogins, ...place, ownerId, kind, begunAt, "Another account was linked.");
    return {
      user: { userId: formatId("user", userId), name },
      kind,
      way,
      authenticated: true,
      account,
      plan: null,
      expiresAt: null,
      utilization: null,
      utilizationAt: null,
      warning: null,
    };
  },
});
