// What the actions on exposures do. The requests of their users pass through the public door instead.
import { randomBytes } from "node:crypto";
import { Refusal, notFound, parseId, type exposureActions } from "@hawser/contract";
import { callerReference } from "../access/caller-reference.ts";
import { onHost, type ChangeContext, type HandlersFor } from "../dispatch/handler.ts";
import { findHost, readFromHost, type HostServices } from "../hosts/ask-host.ts";
import { findSession, hostOf, refuseOver } from "../sessions/find-session.ts";
import { attachCommand, pageOf, username } from "./address.ts";
import { hashPassword } from "./password-hash.ts";
import type { PublicAddresses } from "./public-addresses.ts";
import { exposureRecord } from "./record.ts";
import * as store from "./store.ts";

export interface ExposureServices extends HostServices {
  exposures: {
    /** undefined if exposures have no address in this installation. */
    addresses(): Pick<PublicAddresses, "takePort" | "urlOf"> | undefined;
    /** Cuts its open connections at this node. The other nodes notice within a second. */
    cut(exposureId: string): void;
  };
}

/** Each has a tunnel of its own while it is used. */
const mostOfInstance = 20;
const passwordBytes = 16;

export const exposureHandlers: HandlersFor<typeof exposureActions, ExposureServices> = {
  async list_exposures({ sql }, { instanceId }) {
    await findHost(sql, instanceId);
    const id = parseId("instance", instanceId)!;
    const rows = await sql.rows(store.selectExposures, sql.organizationId, id);
    return { exposures: rows.map(exposureRecord) };
  },

  create_exposure: onHost({
    async prepare({ sql, exposures }, { instanceId, sessionId }) {
      const session = sessionId === undefined ? undefined : await findSession(sql, sessionId);
      const host = await findHost(sql, instanceId);
      if (!exposures.addresses()) throw noAddress();
      if (!session || sessionId === undefined)
        return { ...host, scope: { kind: "instance" as const } };
      if (session.instance_id !== parseId("instance", instanceId)) throw notFound("session");
      refuseOver(session);
      if (session.agent_kind !== "opencode") throw notOpencode(session.agent_kind);
      return { ...host, scope: { kind: "session" as const, sessionId } };
    },
    ask: (context, _input, { scope, ...host }) =>
      readFromHost(context, host, "check_exposure", { scope }),
    async conclude(context, { instanceId, sessionId, ttlMinutes }, _intent, beginning) {
      const { record, origin, password } = await addExposure(context, {
        instanceId: parseId("instance", instanceId)!,
        sessionId: sessionId === undefined ? null : parseId("session", sessionId)!,
        previewPort: null,
        ttlMinutes,
      });
      return {
        ...record,
        url: pageOf(origin, beginning),
        username,
        password,
        attachCommand: attachCommand(origin, password, beginning),
      };
    },
  }),

  async list_session_ports(context, { sessionId }) {
    const session = await findSession(context.sql, sessionId);
    refuseOver(session);
    return readFromHost(context, hostOf(session), "list_session_ports", { sessionId });
  },

  create_preview: onHost({
    async prepare({ sql, exposures }, { sessionId }) {
      const session = await findSession(sql, sessionId);
      refuseOver(session);
      if (!exposures.addresses()) throw noAddress();
      return hostOf(session);
    },
    ask: (context, { sessionId, port }, host) =>
      readFromHost(context, host, "check_exposure", { scope: { kind: "port", sessionId, port } }),
    async conclude(context, { sessionId, port, ttlMinutes }, { instanceId }) {
      const { record, origin, password } = await addExposure(context, {
        instanceId: parseId("instance", instanceId)!,
        sessionId: parseId("session", sessionId)!,
        previewPort: port,
        ttlMinutes,
      });
      return { ...record, port, url: `${origin}/`, username, password };
    },
  }),

  async revoke_exposure({ sql, exposures }, { exposureId }) {
    const id = parseId("exposure", exposureId);
    const row = id && (await sql.first(store.revokeExposure, sql.organizationId, id));
    if (!row) throw notFound("exposure");
    sql.afterCommit(() => exposures.cut(exposureId));
    return { exposureId, revoked: true };
  },
};

/** Ids are stored ones. Throws `limit_reached` if the host has too many. */
async function addExposure(
  { sql, caller, exposures }: ChangeContext & ExposureServices,
  wanted: {
    instanceId: string;
    sessionId: string | null;
    previewPort: number | null;
    ttlMinutes: number;
  },
) {
  const { instanceId, sessionId, previewPort, ttlMinutes } = wanted;
  const locked = await sql.first(store.lockInstance, sql.organizationId, instanceId);
  if (!locked) throw notFound("instance");
  const counted = await sql.first(store.countExposures, sql.organizationId, instanceId);
  if (counted!.exposures >= mostOfInstance) throw tooMany();
  const password = randomBytes(passwordBytes).toString("base64url");
  const addresses = exposures.addresses();
  if (!addresses) throw noAddress();
  const port = await addresses.takePort();
  const row = await sql.first(
    store.insertExposure,
    sql.organizationId,
    instanceId,
    sessionId,
    previewPort,
    hashPassword(password, previewPort === null ? "session" : "port"),
    caller.apiKeyId,
    await callerReference(sql, caller),
    port,
    ttlMinutes,
  );
  const record = exposureRecord(row!);
  return { record, origin: addresses.urlOf(record.exposureId, port), password };
}

function noAddress(): Refusal {
  return new Refusal(
    "host_refused",
    "This installation has no address for exposures. Ask its operator to set HAWSER_EXPOSURE_DOMAIN.",
  );
}

function notOpencode(kind: string): Refusal {
  return new Refusal(
    "capability_missing",
    `Only sessions of opencode can be exposed; this one runs ${kind}. Use send_prompt instead; create_preview opens a server that it runs.`,
  );
}

function tooMany(): Refusal {
  return new Refusal(
    "limit_reached",
    `The host has ${mostOfInstance} exposures, which is the maximum. End one with revoke_exposure first.`,
  );
}
