// Disconnects the removed hosts of an instance. NATS is to refuse them first, which ends their connections;
// then those are ended that remain, because the push failed or had no room. A connection that is recorded
// later is ended then (presence.ts).
import type { KickConnection } from "../fabric/kick-connection.ts";
import type { RevocationRetry } from "../fabric/revocation-retry.ts";
import type { Log } from "../log.ts";
import type { SystemSql } from "../postgres/statement.ts";
import { selectConnectionsOfRemoved } from "./presence-store.ts";

/**
 * Call it once the revocation is committed. Never throws; what fails is repeated in the background.
 * `isSilent`: the host was asked to forget and did not answer. Its connections are ended at once.
 */
export type CutOff = (
  organizationId: string,
  instanceId: string,
  options?: { isSilent: boolean },
) => Promise<void>;

export function createCutOff(parts: {
  system: SystemSql;
  kick: KickConnection;
  revoking: Pick<RevocationRetry, "push">;
  log: Log;
}): CutOff {
  const { system, kick, revoking, log } = parts;

  async function kickAll(organizationId: string, instanceId: string): Promise<void> {
    try {
      const rows = await system.rows(selectConnectionsOfRemoved, organizationId, instanceId);
      await Promise.all(
        rows.map(({ server_id: serverId, client_id: clientId, public_key: user }) =>
          kick({ serverId, clientId, user }),
        ),
      );
    } catch (error) {
      log.warn({ err: error }, "the connections of a removed host could not be read");
    }
  }

  return async (organizationId, instanceId, { isSilent } = { isSilent: false }) => {
    const pushed = revoking.push();
    if (isSilent) await kickAll(organizationId, instanceId);
    await pushed;
    await kickAll(organizationId, instanceId);
  };
}
