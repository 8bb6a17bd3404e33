// The calls that hosts make by themselves, and their answers. The fabric lets a host publish only under
// its own id, so the subject proves which host calls.
import { formatId, parseId, received } from "@hawser/contract";
import {
  Bye,
  Heartbeat,
  Hello,
  Report,
  type HeartbeatReply,
  type HelloReply,
  type HostFacts,
  type Refused,
  type RenewReply,
  type ReportReply,
  type UpCall,
} from "@hawser/host-protocol";
import type { Viewers } from "../events/viewers.ts";
import { lockInstances } from "../hosts/store.ts";
import type { Database } from "../postgres/database.ts";
import { inGroups, readInGroups } from "../postgres/in-groups.ts";
import type { Intake } from "../session-log/intake.ts";
import type { LogQuota } from "../session-log/log-quota.ts";
import { answerHellos, failLost, type ReceivedHello } from "../session-log/hello.ts";
import { limitFacts } from "./limit-facts.ts";
import type { Presence } from "./presence.ts";
import type { RemovedHosts } from "./removed-hosts.ts";
import { noteSightings } from "./sighting-store.ts";
import { sightingValues, type Sightings } from "./sightings.ts";
import * as store from "./up-call-store.ts";

export interface UpCalls {
  /** Answers one message of a host. Throws if the id or the message cannot be parsed. */
  answer(instanceId: string, call: UpCall, message: Uint8Array): Promise<object>;
}

interface UpCallParts {
  database: Database;
  intake: Intake;
  logQuota: Pick<LogQuota, "refusal">;
  sightings: Pick<Sightings, "note">;
  /** A new token for a key that is still valid. */
  renewToken: (publicKey: string) => Promise<RenewReply>;
  removed: Pick<RemovedHosts, "answerInstance">;
  viewers: Viewers;
  presence: Pick<Presence, "recorded">;
  /** The window over which hosts spread their return after an outage. */
  reconnectSeconds: () => number;
  /** The address to use instead of the one that a host has dialled; undefined if it is to stay. */
  movedTo?: (dialled: string) => string | undefined;
  /** Called once a hello is stored, with the stored id. */
  isBack: (instanceId: string) => void;
}

/**
 * The interval of a host without news; it reports changed facts at once. Presence does not depend on
 * heartbeats.
 */
const heartbeatSeconds = 300;
/** How long the fabric's connect event may take after the first message of the connection. */
const ownEventMs = 1_000;
/** Bytes of messages that wait until their hosts are found. Hosts keep the rest, and send it again. */
const mostHeldBytes = 32 * 1024 * 1024;
const busy: Refused = { refused: "rate_limited", retryAfterMs: 1_000 };
/** How long a heartbeat may wait for a lock. The next one repeats what it says. */
const heartbeatLockMs = 500;

export function createUpCalls(parts: UpCallParts): UpCalls {
  const { database, intake, logQuota, sightings, renewToken, removed, viewers, isBack } = parts;
  const { reconnectSeconds } = parts;
  const { system: signIn } = database.connectionsFor("sign-in");
  const presence = database.connectionsFor("presence");
  const { system } = presence;
  const { system: heartbeats } = presence.waitingAtMost(heartbeatLockMs);
  let heldBytes = 0;

  const find = readInGroups(async (instanceIds: string[]) => {
    const rows = await signIn.rows(store.selectHosts, [...new Set(instanceIds)]);
    const hosts = new Map(rows.map((row) => [row.instance_id, row]));
    return instanceIds.map((id) => hosts.get(id));
  });

  const storeHello = inGroups((hellos: (ReceivedHello & { hello: Hello })[], lockMs) =>
    presence.waitingAtMost(lockMs).systemTransaction(async (tx) => {
      const { replies, lost } = await answerHellos(tx, hellos);
      // If one host sent two hellos, the later one counts.
      const rows = [
        ...new Map(hellos.map((each) => [each.host.instanceId, helloRow(each)])).values(),
      ];
      tx.later(
        lockInstances,
        rows.map((row) => row.organization_id),
        rows.map((row) => row.instance_id),
      );
      tx.later(store.noteHellos, JSON.stringify(rows));
      tx.later(noteSightings, ...sightingValues(hellos.map(({ host }) => host)));
      const withdrawn = await failLost(tx, lost);
      return hellos.map(({ host }, index) => {
        const sessionIds = lost
          .filter(({ instanceId }) => instanceId === host.instanceId)
          .map(({ sessionId }) => sessionId);
        const requestIds = withdrawn
          .filter(({ session_id }) => sessionIds.includes(session_id))
          .map(({ request_id }) => request_id);
        return { sessions: replies[index]!, lost: { sessionIds, requestIds } };
      });
    }),
  );

  const answers: Record<
    UpCall,
    (host: store.SpeakingHost, shownId: string, message: unknown) => Promise<object>
  > = {
    async hello(host, shownId, message): Promise<HelloReply> {
      const hello = received(Hello).parse(message);
      // The same key from another machine while the first is still connected: a copied disk.
      const isOtherMachine = host.machine_id !== null && host.machine_id !== hello.machineId;
      if (isOtherMachine && (await hasOtherConnection(host))) {
        await system.rows(store.noteDuplicate, host.organization_id, host.instance_id);
        viewers.notify(host.organization_id, { instances: [shownId] });
        return { refused: "duplicate_host" };
      }
      const { sessions, lost } = await storeHello({
        host: tenantHost(host),
        hello,
        formerJournalId: host.journal_id,
      });
      viewers.notify(host.organization_id, {
        instances: [shownId],
        sessions: lost.sessionIds.map((id) => formatId("session", id)),
        requests: lost.requestIds.map((id) => formatId("request", id)),
      });
      // A host that has the answer ends the connection that it used before. If the end of that one were
      // recorded before the start of this one, the host would be shown offline.
      if (hello.connection) await parts.presence.recorded(hello.connection);
      isBack(host.instance_id);
      const serverUrl = hello.dialled === undefined ? undefined : parts.movedTo?.(hello.dialled);
      return {
        heartbeatSeconds,
        reconnectJitterSeconds: reconnectSeconds(),
        sessions,
        ...(serverUrl !== undefined && { serverUrl }),
      };
    },
    async heartbeat(host, shownId, message): Promise<HeartbeatReply> {
      const { bootId, facts } = received(Heartbeat).parse(message);
      sightings.note(tenantHost(host));
      if (facts) {
        const self = [host.organization_id, host.instance_id];
        const changed = await heartbeats.rows(
          store.noteFacts,
          ...self,
          ...factValues(facts),
          bootId,
        );
        if (changed.length > 0) viewers.notify(host.organization_id, { instances: [shownId] });
      }
      return { nextSeconds: heartbeatSeconds };
    },
    async report(host, _shownId, message): Promise<ReportReply> {
      return intake.accept(tenantHost(host), received(Report).parse(message));
    },
    renew: (host) => renewToken(host.host_key),
    async bye(host, _shownId, message) {
      const { bootId } = received(Bye).parse(message);
      await system.rows(store.noteStopped, host.organization_id, host.instance_id, bootId);
      return {};
    },
  };

  /**
   * Waits until it is clear whether the one recorded connection is the caller's own: its connect event
   * may still be under way.
   */
  async function hasOtherConnection(host: store.SpeakingHost): Promise<boolean> {
    let { connections } = host;
    for (let waitedMs = 0; connections === 1 && waitedMs < ownEventMs; waitedMs += 100) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      connections = (await find(host.instance_id))?.connections ?? 0;
      // If this were answered, a host that has already left would be shown online.
      if (connections === 0) throw new Error("The connection that said hello is gone.");
    }
    return connections > 1;
  }

  async function findSender(id: string, message: Uint8Array) {
    heldBytes += message.length;
    try {
      return await find(id);
    } finally {
      heldBytes -= message.length;
    }
  }

  function overQuota(host: store.SpeakingHost, shownId: string): Refused | undefined {
    const { organization_id: organizationId, log_bytes_left: left } = host;
    return logQuota.refusal({ organizationId, shownId }, left);
  }

  return {
    async answer(instanceId, call, message) {
      const id = parseId("instance", instanceId);
      if (!id) throw new Error("This is not an instance's id.");
      if (heldBytes > mostHeldBytes) return busy;
      const host = await findSender(id, message);
      if (!host) return removed.answerInstance(id);
      const refused = call === "report" ? overQuota(host, instanceId) : undefined;
      if (refused) return refused;
      const parsed: unknown = JSON.parse(Buffer.from(message).toString());
      return answers[call](host, instanceId, parsed);
    },
  };
}

function tenantHost({ organization_id, instance_id }: store.SpeakingHost) {
  return { organizationId: organization_id, instanceId: instance_id };
}

function factColumns(reported: HostFacts) {
  const facts = limitFacts(reported);
  return {
    host: facts.host,
    daemon_version: facts.daemonVersion,
    agents: facts.agents,
    roots: facts.roots,
    code_hosting_cli: facts.codeHostingCli,
    warnings: facts.warnings,
    operations: facts.operations,
  };
}

function helloRow({ host, hello }: ReceivedHello & { hello: Hello }) {
  const { machineId, journalId, bootId, facts } = hello;
  return {
    organization_id: host.organizationId,
    instance_id: host.instanceId,
    machine_id: machineId,
    journal_id: journalId,
    boot_id: bootId,
    ...factColumns(facts),
  };
}

export function factValues(facts: HostFacts): unknown[] {
  // Arrays are sent as JSON text: the column is jsonb, and a bare array would be sent as an SQL array.
  return Object.values(factColumns(facts)).map((value) =>
    Array.isArray(value) ? JSON.stringify(value) : value,
  );
}
