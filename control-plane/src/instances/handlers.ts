// What the instance actions do.
import {
  Refusal,
  formatId,
  notFound,
  parseId,
  type agentActions,
  type instanceActions,
  type HostWarning,
  type InstanceDetail,
  type InstanceRecord,
} from "@hawser/contract";
import { defaultKind } from "../agents/default-kind.ts";
import { listAgentKinds } from "../agents/listing.ts";
import { firstId, lastId, page, readCursor } from "../cursor.ts";
import { OutcomeUnknown, onHost, type HandlersFor } from "../dispatch/handler.ts";
import { notifyAfterCommit, type Viewers } from "../events/viewers.ts";
import { hostOffline, type HostAsker } from "../fabric/host-asker.ts";
import { askHost, findHost, readFromHost, withShortWait } from "../hosts/ask-host.ts";
import { selectHostAgents } from "../hosts/store.ts";
import { forgetAccountsOfInstance, forgetLoginsOfInstance } from "../identities/store.ts";
import { query, type Query } from "../postgres/statement.ts";
import { deleteRequestsOfInstance } from "../requests/store.ts";
import { sessionListEntry } from "../sessions/listing.ts";
import { forgetEndingsOfInstance } from "../sessions/owed-store.ts";
import {
  deleteSessionsOfInstance,
  newestOfInstanceInStatus,
  type SessionListRow,
} from "../sessions/store.ts";
import type { CutOff } from "./cut-off.ts";
import { browseDirectory, listDirectories } from "./directories.ts";
import { revokeHostKeys } from "./host-identity.ts";
import { issuePairingToken } from "./pairing.ts";
import * as store from "./store.ts";
import { noteFacts } from "./up-call-store.ts";
import { factValues } from "./up-calls.ts";

export interface InstanceServices {
  /** The address callers and hosts use. */
  baseUrl: string;
  hosts: HostAsker & { cutOff: CutOff };
  viewers: Viewers;
}

const mostListed = 1000;
const mostActiveSessionsShown = 200;

type InstanceActions = typeof instanceActions & Pick<typeof agentActions, "set_fallback_chain">;

export const instanceHandlers: HandlersFor<InstanceActions, InstanceServices> = {
  async list_instances({ sql }) {
    const [rows, [organization]] = await sql.together(
      query(store.selectByName, sql.organizationId, "", firstId, mostListed, ""),
      query(store.countInstances, sql.organizationId),
    );
    const isAgent = sql.agentSessionId !== null;
    const total = isAgent ? rows.length : (organization?.instance_count ?? 0);
    return { instances: rows.map(instanceRecord), total, truncated: total > rows.length };
  },

  async get_instance({ sql }, { instanceId }) {
    const id = parseId("instance", instanceId);
    if (!id) throw notFound("instance");
    return instanceDetail(...(await sql.together(...detailQueries(sql.organizationId, id))));
  },

  list_directories: (context, { instanceId }) => listDirectories(context, instanceId),

  browse_directory: (context, { instanceId, path }) => browseDirectory(context, instanceId, path),

  async list_github_repos(context, { instanceId, query: part = "", limit = 100 }) {
    const host = await findHost(context.sql, instanceId);
    return readFromHost(context, host, "list_github_repos", { query: part, limit });
  },

  list_agent_kinds: (context, { instanceId }) => listAgentKinds(context, instanceId),

  async list_models(context, { instanceId, agentKind }) {
    const { sql } = context;
    const id = parseId("instance", instanceId);
    const row = id && (await sql.first(selectHostAgents, sql.organizationId, id));
    if (!row) throw notFound("instance");
    // Always ask the host, because nobody should choose from an old list.
    if (row.status !== "online") {
      throw hostOffline();
    }
    const kind = agentKind ?? defaultKind(row.fallback_chain, row.agents).kind;
    return readFromHost(context, { instanceId, isOnline: true }, "list_models", { kind });
  },

  async create_instance(context, { name }) {
    const { sql, baseUrl } = context;
    const row = (await sql.first(store.insertInstance, sql.organizationId, name))!;
    const pairing = await issuePairingToken(sql, baseUrl, row.instance_id);
    const instance = instanceRecord(row);
    notifyAfterCommit(context, { instances: [instance.instanceId] });
    return { instance, ...pairing };
  },

  async regenerate_pairing_token({ sql, baseUrl }, { instanceId }) {
    const id = parseId("instance", instanceId);
    if (!id || !(await sql.first(store.lockInstance, sql.organizationId, id)))
      throw notFound("instance");
    return { instanceId, ...(await issuePairingToken(sql, baseUrl, id)) };
  },

  async update_instance(context, { instanceId, name }) {
    const { sql } = context;
    const id = parseId("instance", instanceId);
    const row = id && (await sql.first(store.renameInstance, sql.organizationId, id, name));
    if (!row) throw notFound("instance");
    notifyAfterCommit(context, { instances: [instanceId] });
    return instanceRecord(row);
  },

  async set_fallback_chain(context, { instanceId, chain, threshold = 90 }) {
    const { sql } = context;
    const id = parseId("instance", instanceId);
    const fallbackChain = chain.map(({ kind, providerId = null, modelId = null }) => {
      return { kind, providerId, modelId };
    });
    const changes = [JSON.stringify(fallbackChain), threshold] as const;
    const row = id && (await sql.first(store.setFallbackChain, sql.organizationId, id, ...changes));
    if (!row) throw notFound("instance");
    notifyAfterCommit(context, { instances: [instanceId] });
    return { instanceId, fallbackChain, fallbackThreshold: threshold };
  },

  delete_instance: onHost({
    async prepare(context, { instanceId }) {
      const { sql } = context;
      const id = parseId("instance", instanceId);
      if (!id) throw notFound("instance");
      notifyAfterCommit(context, { instances: [instanceId] });
      // Sessions before their instance: every transaction that changes both locks them in this order.
      sql.later(deleteSessionsOfInstance, sql.organizationId, id);
      sql.later(deleteRequestsOfInstance, sql.organizationId, id);
      sql.later(forgetEndingsOfInstance, sql.organizationId, id);
      sql.later(forgetAccountsOfInstance, sql.organizationId, id);
      sql.later(forgetLoginsOfInstance, sql.organizationId, id);
      const deleted = await sql.first(store.deleteInstance, sql.organizationId, id);
      if (!deleted) throw notFound("instance");
      sql.later(store.revokePairingTokens, sql.organizationId, id);
      revokeHostKeys(sql, sql.organizationId, id);
      return { hostKey: deleted.host_key };
    },
    async ask(context, { instanceId }, intent) {
      // A call that a node of version 0.1.0 began has no intent.
      const { hostKey } = (intent as typeof intent | undefined) ?? { hostKey: null };
      // The order reaches the host before it is cut off. A host that cannot be reached receives the proof of
      // its removal when it next calls.
      const host = { instanceId, isOnline: false };
      const isSilent =
        hostKey !== null &&
        (await askHost({ ...context, resumed: false }, host, "forget_host", { hostKey }).then(
          () => false,
          isUnanswered,
        ));
      const id = parseId("instance", instanceId)!;
      await context.hosts.cutOff(context.caller.organizationId, id, { isSilent });
    },
    conclude: (_context, { instanceId }) => ({ instanceId, deleted: true }),
  }),

  clone_repository: onHost({
    prepare: ({ sql }, { instanceId }) => findHost(sql, instanceId),
    ask: (context, { instanceId, name, ...source }, { isOnline }) =>
      askHost(
        withShortWait(context),
        { instanceId, isOnline },
        "clone_repository",
        name ? { ...source, name } : source,
      ),
    conclude: (_context, _input, _intent, cloned) => cloned,
  }),

  refresh_instance: onHost({
    prepare: ({ sql }, { instanceId }) => findHost(sql, instanceId),
    ask: (context, { instanceId }, { isOnline }) =>
      askHost(context, { instanceId, isOnline }, "refresh_host_facts", {}),
    async conclude(context, { instanceId }, _intent, { facts, bootId = null }) {
      const { sql } = context;
      const id = parseId("instance", instanceId)!;
      const [noted, ...read] = await sql.together(
        query(noteFacts, sql.organizationId, id, ...factValues(facts), bootId),
        ...detailQueries(sql.organizationId, id),
      );
      if (noted.length > 0) notifyAfterCommit(context, { instances: [instanceId] });
      return instanceDetail(...read);
    },
  }),

  async search_instances({ sql }, { query: beginning = "", status, cursor, limit = 50 }) {
    const after = cursor === undefined ? ["", firstId] : readCursor(cursor, 2);
    const range = [sql.organizationId, ...after, limit + 1, beginning];
    const read = status
      ? await sql.rows(store.selectByNameInStatus, ...range, status)
      : await sql.rows(store.selectByName, ...range);
    const { rows, nextCursor } = page(read, limit, (row) => [row.name_key, row.instance_id]);
    return { instances: rows.map(instanceRecord), nextCursor };
  },
};

type DetailQueries = [Query<store.InstanceDetailRow>, Query<SessionListRow>];

function detailQueries(organizationId: string, id: string): DetailQueries {
  const listed = [organizationId, lastId, mostActiveSessionsShown, id, "active"];
  return [
    query(store.selectInstance, organizationId, id),
    query(newestOfInstanceInStatus, ...listed),
  ];
}

function instanceDetail(
  [row]: store.InstanceDetailRow[],
  active: SessionListRow[],
): InstanceDetail {
  if (!row) throw notFound("instance");
  return {
    ...instanceRecord(row),
    pairedAt: row.paired_at,
    roots: row.roots,
    codeHostingCli: row.code_hosting_cli,
    warnings: row.log_quota_used_up ? [...row.warnings, logQuotaUsedUp] : row.warnings,
    operations: row.operations,
    activeSessions: active.map(sessionListEntry),
    fallbackChain: row.fallback_chain,
    fallbackThreshold: row.fallback_threshold,
  };
}

const logQuotaUsedUp: HostWarning = {
  code: "log_quota_exceeded",
  message:
    "The organization has used up its log bytes of the day (UTC). The host keeps its log entries and sends them tomorrow. To receive them earlier, ask the operator for a larger quota.",
};

/** Throws a fault. A host that refuses or cannot be reached must not prevent the removal of its record. */
function isUnanswered(error: unknown): boolean {
  if (!(error instanceof Refusal) && !(error instanceof OutcomeUnknown)) throw error;
  return error instanceof OutcomeUnknown;
}

function instanceRecord(row: store.InstanceRow): InstanceRecord {
  return {
    instanceId: formatId("instance", row.instance_id),
    name: row.name,
    status: row.status,
    statusReason: row.status_reason,
    host: row.host,
    daemonVersion: row.daemon_version,
    agents: row.agents,
    activeSessionCount: row.active_session_count,
    lastSeenAt: row.last_seen_at,
    createdAt: row.created_at,
  };
}
