// Exposures at a node: their traffic, with what it needs of the database and of hosts.
import { randomUUID } from "node:crypto";
import { Refusal, formatId } from "@hawser/contract";
import type { Authenticator } from "../access/authenticate.ts";
import type { Config } from "../config.ts";
import type { Fabric } from "../fabric/connection.ts";
import type { HostAsker } from "../fabric/host-asker.ts";
import type { Log } from "../log.ts";
import type { Metrics } from "../metrics.ts";
import type { SystemDatabase } from "../postgres/database.ts";
import type { SystemSql } from "../postgres/statement.ts";
import { createExposureAccess } from "./access.ts";
import { username } from "./address.ts";
import type { OpenExposure } from "./open-exposure.ts";
import { recordUse } from "./record-use.ts";
import { selectPorts } from "./store.ts";
import { createExposureTraffic, type ExposureTraffic } from "./traffic.ts";

export interface ExposuresParts {
  config: Pick<Config, "exposures">;
  database: SystemDatabase;
  /** Reads who may do what, on connections of its own. */
  signIn: SystemSql;
  callersOfKeys: Authenticator["callersOfKeys"];
  hosts: HostAsker;
  fabric: Pick<Fabric, "request" | "publish" | "subscribe" | "flush">;
  tunnelSecret: Buffer;
  nodeId: string;
  now: () => number;
  metrics: Pick<Metrics, "countExposureAnswer" | "showExposures">;
  log: Log;
}

/** How long a host may take to open a tunnel, with the start of opencode if the scope needs it. */
const openMs = 28_000;

export function createExposures(parts: ExposuresParts): ExposureTraffic {
  const { config, database, hosts } = parts;
  const access = createExposureAccess(parts.signIn, parts.callersOfKeys, parts.log);

  async function openTunnel(exposure: OpenExposure, ticket: string): Promise<void> {
    const { exposureId, instanceId, scope, expiresAt } = exposure;
    const terms = await access.termsOf(exposureId);
    if (!terms) throw new Refusal("not_found", "The exposure has ended.");
    const { actor, highestMode } = terms;
    const payload = {
      exposureId,
      ticket,
      expiresAt: new Date(expiresAt).toISOString(),
      scope,
      highestMode,
    };
    await hosts.ask(instanceId, "open_tunnel", payload, {
      commandId: randomUUID(),
      actor,
      resumed: false,
      signal: AbortSignal.timeout(openMs),
      isOnline: true,
    });
  }

  const traffic = createExposureTraffic({
    ...config.exposures,
    username,
    tunnelSecret: parts.tunnelSecret,
    nodeId: parts.nodeId,
    fabric: parts.fabric,
    now: parts.now,
    find: (exposureId) => access.find(exposureId),
    mayUse: (exposure) => access.mayUse(exposure),
    stillGood: (exposureIds) => access.stillGood(exposureIds),
    openTunnel,
    async listPorts() {
      const rows = await database.system.rows(selectPorts);
      return rows.map(({ exposure_id, port }) => ({
        exposureId: formatId("exposure", exposure_id),
        port,
      }));
    },
    recordUse: (uses) => recordUse(database, uses),
    countAnswer: (status, from) => parts.metrics.countExposureAnswer(status, from),
    log: parts.log,
  });
  parts.metrics.showExposures(() => traffic.counts());
  return traffic;
}
