// What the instance actions do.
import {
  formatId,
  notFound,
  parseId,
  type instanceActions,
  type InstanceRecord,
} from "@hawser/contract";
import { firstId, lastId, page, readCursor } from "../cursor.ts";
import type { HandlersFor } from "../dispatch/handler.ts";
import type { NotYet } from "../not-yet.ts";
import { query } from "../postgres/statement.ts";
import { sessionListEntry } from "../sessions/listing.ts";
import { deleteSessionsOfInstance, selectNewestOfInstanceInStatus } from "../sessions/store.ts";
import { issuePairingToken } from "./pairing.ts";
import * as store from "./store.ts";

export interface InstanceServices {
  /** The address callers and hosts use. */
  baseUrl: string;
}

const mostListed = 1000;
const mostActiveSessionsShown = 200;

export const instanceHandlers: HandlersFor<typeof instanceActions, InstanceServices, NotYet> = {
  async list_instances({ sql }) {
    const [rows, [organization]] = await sql.together(
      query(store.selectByName, sql.organizationId, "", firstId, mostListed, ""),
      query(store.countInstances, sql.organizationId),
    );
    const total = organization?.instance_count ?? 0;
    return { instances: rows.map(instanceRecord), total, truncated: total > rows.length };
  },

  async get_instance({ sql }, { instanceId }) {
    const id = parseId("instance", instanceId);
    if (!id) throw notFound("instance");
    const [[row], active] = await sql.together(
      query(store.selectInstance, sql.organizationId, id),
      query(
        selectNewestOfInstanceInStatus,
        sql.organizationId,
        lastId,
        mostActiveSessionsShown,
        id,
        "active",
      ),
    );
    if (!row) throw notFound("instance");
    return {
      ...instanceRecord(row),
      roots: row.roots,
      codeHostingCli: row.code_hosting_cli,
      activeSessions: active.map(sessionListEntry),
      fallbackChain: row.fallback_chain,
      fallbackThreshold: row.fallback_threshold,
    };
  },

  async create_instance({ sql, baseUrl }, { name }) {
    const row = (await sql.first(store.insertInstance, sql.organizationId, name))!;
    const pairing = await issuePairingToken(sql, baseUrl, row.instance_id);
    return { instance: instanceRecord(row), ...pairing };
  },

  async regenerate_pairing_token({ sql, baseUrl }, { instanceId }) {
    const id = parseId("instance", instanceId);
    if (!id || !(await sql.first(store.lockInstance, sql.organizationId, id)))
      throw notFound("instance");
    return { instanceId, ...(await issuePairingToken(sql, baseUrl, id)) };
  },

  async update_instance({ sql }, { instanceId, name }) {
    const id = parseId("instance", instanceId);
    const row = id && (await sql.first(store.renameInstance, sql.organizationId, id, name));
    if (!row) throw notFound("instance");
    return instanceRecord(row);
  },

  async delete_instance({ sql }, { instanceId }) {
    const id = parseId("instance", instanceId);
    if (!id || !(await sql.first(store.deleteInstance, sql.organizationId, id)))
      throw notFound("instance");
    sql.later(store.revokePairingTokens, sql.organizationId, id);
    sql.later(deleteSessionsOfInstance, sql.organizationId, id);
    return { instanceId, deleted: true };
  },

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
