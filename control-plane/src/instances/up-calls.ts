// What hosts say by themselves, and what they are told in return. The fabric lets a host speak only
// under its own id, so the subject proves who speaks.
import { parseId } from "@hawser/contract";
import {
  Bye,
  Heartbeat,
  Hello,
  Report,
  type HeartbeatReply,
  type HelloReply,
  type HostFacts,
  type RenewReply,
  type ReportReply,
  type UpCall,
} from "@hawser/host-protocol";
import type { Database } from "../postgres/database.ts";
import type { Intake } from "../sessions/intake.ts";
import { answerHello } from "../sessions/hello.ts";
import * as store from "./up-call-store.ts";

export interface UpCalls {
  /** The answer to one message of a host, as JSON. */
  answer(instanceId: string, call: UpCall, message: unknown): Promise<object>;
}

interface UpCallParts {
  database: Database;
  intake: Intake;
  /** A fresh token for a key that is still good. */
  renewToken: (publicKey: string) => Promise<RenewReply>;
  changed: (organizationId: string, instanceId: string) => void;
}

const heartbeatSeconds = 30;
const reconnectJitterSeconds = 4;
/** How long the fabric's word of a connection may take after the connection's own first message. */
const ownEventMs = 1_000;
const forget = { forget: true } as const;

export function openUpCalls({ database, intake, renewToken, changed }: UpCallParts): UpCalls {
  const { system } = database;

  const answers: Record<
    UpCall,
    (host: store.SpeakingHost, shownId: string, message: unknown) => Promise<object>
  > = {
    async hello(host, shownId, message): Promise<HelloReply> {
      const hello = Hello.parse(message);
      const self = [host.organization_id, host.instance_id];
      // The same key from another machine while the first is still connected: a copied disk.
      const isOtherMachine = host.machine_id !== null && host.machine_id !== hello.machineId;
      if (isOtherMachine && (await hasOtherConnection(host))) {
        await system.rows(store.noteDuplicate, ...self);
        changed(host.organization_id, shownId);
        return { refused: "duplicate_host" };
      }
      const identity = [hello.machineId, hello.journalId, hello.bootId];
      const sessions = await database.systemTransaction(async (tx) => {
        const compared = await answerHello(tx, tenantHost(host), hello);
        tx.later(store.noteHello, ...self, ...identity, ...factValues(hello.facts));
        return compared;
      });
      changed(host.organization_id, shownId);
      return { heartbeatSeconds, reconnectJitterSeconds, sessions };
    },
    async heartbeat(host, shownId, message): Promise<HeartbeatReply> {
      const { facts } = Heartbeat.parse(message);
      const self = [host.organization_id, host.instance_id];
      await system.rows(store.noteSeen, ...self);
      if (facts) {
        await system.rows(store.noteFacts, ...self, ...factValues(facts));
        changed(host.organization_id, shownId);
      }
      return { nextSeconds: heartbeatSeconds };
    },
    async report(host, _shownId, message): Promise<ReportReply> {
      return intake.take(tenantHost(host), Report.parse(message));
    },
    renew: (host) => renewToken(host.host_key),
    async bye(host, _shownId, message) {
      const { bootId } = Bye.parse(message);
      await system.rows(store.noteStopped, host.organization_id, host.instance_id, bootId);
      return {};
    },
  };

  /** The connection that speaks may not be noted yet, so that one could be it or the other. */
  async function hasOtherConnection(host: store.SpeakingHost): Promise<boolean> {
    let { connections } = host;
    for (let waitedMs = 0; connections === 1 && waitedMs < ownEventMs; waitedMs += 100) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      connections = (await system.first(store.selectHost, host.instance_id))?.connections ?? 0;
      // Answered now, a host that has left already would be shown online.
      if (connections === 0) throw new Error("The connection that said hello is gone.");
    }
    return connections > 1;
  }

  return {
    async answer(instanceId, call, message) {
      const id = parseId("instance", instanceId);
      const host = id && (await system.first(store.selectHost, id));
      return host ? answers[call](host, instanceId, message) : forget;
    },
  };
}

function tenantHost({ organization_id, instance_id }: store.SpeakingHost) {
  return { organizationId: organization_id, instanceId: instance_id };
}

/** What an older daemon does not tell is empty. */
export function factValues(facts: HostFacts): unknown[] {
  const { host, daemonVersion, roots, codeHostingCli, warnings = [], operations = [] } = facts;
  const agents = facts.agents.map((agent) => ({ problems: [], ...agent }));
  // Arrays go as JSON text: the column is jsonb, and a bare array would be sent as SQL's own.
  const [agentsText, rootsText, ...rest] = [agents, roots, warnings, operations].map((list) =>
    JSON.stringify(list),
  );
  return [host, daemonVersion, agentsText, rootsText, codeHostingCli, ...rest];
}
