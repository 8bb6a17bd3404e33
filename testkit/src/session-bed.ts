// The session layer of the control plane on a real database. The host is a function: its commands are
// recorded, and each test sets its answers. Notices between nodes are function calls, which can be lost.
import { randomBytes, randomUUID } from "node:crypto";
import { Refusal, formatId, parseId, type RefusalCode } from "@hawser/contract";
import {
  createAuthenticator,
  type Authenticator,
} from "@hawser/control-plane/access/authenticate.ts";
import { createReadCounts } from "@hawser/control-plane/audit/read-counts.ts";
import { createDispatcher, type Dispatcher } from "@hawser/control-plane/dispatch/dispatcher.ts";
import { createTokenBuckets } from "@hawser/control-plane/dispatch/token-bucket.ts";
import {
  createNumberedNotices,
  type Notices,
  type NumberedNotices,
} from "@hawser/control-plane/events/notices.ts";
import { createOrganizationFeed } from "@hawser/control-plane/events/organization-feed.ts";
import { createViewers, type Viewers } from "@hawser/control-plane/events/viewers.ts";
import { createFiles } from "@hawser/control-plane/files/files.ts";
import type { HostAsker } from "@hawser/control-plane/fabric/host-asker.ts";
import { createOwedRemovals } from "@hawser/control-plane/identities/owed-removals.ts";
import { noHosts } from "@hawser/control-plane/host-link.ts";
import { createBlobs } from "@hawser/control-plane/blobs/blobs.ts";
import { createLog } from "@hawser/control-plane/log.ts";
import { calledFromBelow, codeApi, handlers } from "@hawser/control-plane/product.ts";
import { createFollows, type Follows } from "@hawser/control-plane/session-log/follow.ts";
import { notifyOfApplied, createIntake } from "@hawser/control-plane/session-log/intake.ts";
import { createAddresses } from "@hawser/control-plane/webhooks/addresses.ts";
import type { WebhookServices } from "@hawser/control-plane/webhooks/handlers.ts";
import { createSecretOf } from "@hawser/control-plane/webhooks/message.ts";
import { hostCommands, type HostCommand, type ReportReply } from "@hawser/host-protocol";
import { createTestOrganization, type TestOrganization } from "./organization.ts";
import { ownerSql } from "./owner-sql.ts";
import { openServiceDatabase, type ServiceDatabase } from "./service-database.ts";

type Answer = (payload: Record<string, unknown>, commandId: string) => unknown;

export interface AskedCommand {
  command: HostCommand;
  payload: Record<string, unknown>;
  commandId: string;
}

type CallAnswer = { result: Record<string, unknown> } | { refusal: Refusal };

interface CallOptions {
  key?: string;
  idempotencyKey?: string;
}

export interface SessionBed extends AsyncDisposable {
  service: ServiceDatabase;
  organization: TestOrganization;
  /** Id as it is stored. */
  organizationId: string;
  /** Ids as callers see them. */
  instanceId: string;
  /** The commands that the host received, in order. */
  asked: AskedCommand[];
  /** The host's answer to each command. It is unreachable for commands that are not set here. */
  host: Partial<Record<HostCommand, Answer>>;
  hosts: HostAsker;
  notices: LocalNotices;
  /** The same notices with the numbers of one node, which has the feed, the follows and the viewers. */
  numbered: NumberedNotices;
  viewers: Viewers;
  follows: Follows;
  authenticator: Authenticator;
  /** The secret from which the secrets of triggers are derived. */
  triggerSecret: Buffer;
  /** Webhooks may reach loopback addresses. */
  webhooks: WebhookServices["webhooks"];
  /** Another node on the same database. */
  addNode(options?: { deadlineMs?: number }): {
    dispatcher: Dispatcher;
    call(action: string, body: object, options?: CallOptions): Promise<CallAnswer>;
    /** Throws a refusal. */
    result(action: string, body: object, options?: CallOptions): Promise<Record<string, unknown>>;
  };
  /** Adds a session's row without asking the host. */
  addSession(columns?: Record<string, string>): Promise<string>;
  /** Reports entries as the host, numbered after the earlier ones. */
  report(sessionId: string, ...updates: TestUpdate[]): Promise<ReportReply>;
  /** Reports entries as any host, with any numbers. */
  reportFrom(
    instanceId: string,
    sessionId: string,
    firstSeq: number,
    updates: TestUpdate[],
  ): Promise<ReportReply>;
  sql<Row>(text: string, values?: unknown[]): Promise<Row[]>;
}

const starter = JSON.stringify({ type: "user", id: "usr_x", name: "Ada" });

export type TestUpdate = { sessionUpdate: string; turnId?: string } & Record<string, unknown>;

/** A refusal by the host. */
export const refusing =
  (code: RefusalCode, message = "The host says no."): Answer =>
  () => {
    throw new Refusal(code, message);
  };

export async function openSessionBed(): Promise<SessionBed> {
  const service = await openServiceDatabase({ connections: 8 });
  const { database } = service;
  const organization = await createTestOrganization(database, "Acme", "ada@acme.example");
  const organizationId = parseId("organization", organization.organizationId)!;
  const sql = <Row>(text: string, values: unknown[] = []) =>
    ownerSql<Row & Record<string, unknown>>(service.url, text, values);
  const agents = [{ kind: "codex", installed: true, version: "1", ready: true, problems: [] }];
  const [instance] = await sql<{ instance_id: string }>(
    `INSERT INTO instances (organization_id, name, status, status_reason, agents)
     VALUES ($1, 'box', 'online', NULL, $2) RETURNING instance_id`,
    [organizationId, JSON.stringify(agents)],
  );
  const instanceId = formatId("instance", instance!.instance_id);
  const asked: AskedCommand[] = [];
  const host: SessionBed["host"] = {};
  const hosts: HostAsker = {
    async ask(_instanceId, command, payload, { commandId }) {
      // A node sends exactly what is declared. Daemons ignore anything else, and would hide it.
      hostCommands[command].payload.parse(JSON.parse(JSON.stringify(payload)));
      asked.push({ command, payload, commandId });
      const answer = host[command] ?? refusing("host_offline", "The host is not connected.");
      return (await answer(payload, commandId)) as never;
    },
    read: (id, command, payload, reading) =>
      hosts.ask(id, command, payload, {
        ...reading,
        commandId: crypto.randomUUID(),
        resumed: false,
        signal: AbortSignal.timeout(1_000),
      }),
  };
  const notices = localNotices();
  const numbered = createNumberedNotices({ notices, nodeId: randomUUID() });
  const feed = createOrganizationFeed(database.system, numbered);
  const follows = createFollows({ database, notices: numbered });
  const viewers = createViewers(feed, numbered);
  const log = createLog("silent");
  const intake = createIntake({ database, log, onApplied: notifyOfApplied(viewers) });
  const authenticator = createAuthenticator(database.system);
  const pepper = randomBytes(32);
  const triggerSecret = randomBytes(32);
  const webhooks = {
    secretOf: createSecretOf(randomBytes(32)),
    addresses: createAddresses(["127.0.0.0/8"]),
  };
  const seqs = new Map<string, number>();

  const bed: SessionBed = {
    service,
    organization,
    organizationId,
    instanceId,
    asked,
    host,
    hosts,
    notices,
    numbered,
    viewers,
    follows,
    authenticator,
    triggerSecret,
    webhooks,
    sql,
    addNode({ deadlineMs = 5_000 } = {}) {
      const dispatcher = createDispatcher({
        actions: codeApi.actions,
        handlers,
        services: {
          ...calledFromBelow,
          authenticator,
          baseUrl: "https://hawser.example",
          triggerSecret,
          hosts: { ...noHosts, ...hosts },
          viewers,
          follows,
          memberAccounts: createOwedRemovals({ database, hosts, log }),
          files: createFiles(database, createBlobs(database)),
          webhooks,
          exposures: {
            addresses: () => ({
              takePort: () => Promise.resolve(null),
              urlOf: (exposureId: string) =>
                `https://${exposureId.replace("_", "-")}.exposures.example`,
            }),
            cut: () => {},
          },
        },
        database,
        authenticate: ({ authorization }, options) =>
          authenticator.authenticate(authorization, options),
        buckets: createTokenBuckets({ perSecond: 10_000, burst: 10_000 }),
        pepper,
        readCounts: createReadCounts(database.system),
        log,
        observe: () => {},
        deadlineMs,
      });
      const call = async (action: string, body: object, options: CallOptions = {}) =>
        (await dispatcher.dispatch(
          { authorization: `Bearer ${options.key ?? organization.keys.member}` },
          {
            action,
            body: () => Promise.resolve(body),
            callId: "test",
            transport: "test",
            idempotencyKey: options.idempotencyKey,
          },
        )) as CallAnswer;
      return {
        dispatcher,
        call,
        async result(action, body, options) {
          const answer = await call(action, body, options);
          if ("refusal" in answer) throw answer.refusal;
          return answer.result;
        },
      };
    },
    async addSession(columns = {}) {
      const given = { agent_kind: "codex", started_by: starter, directory: "/srv", ...columns };
      const names = Object.keys(given);
      const [row] = await sql<{ session_id: string }>(
        `INSERT INTO sessions (organization_id, instance_id${names.map((name) => `, ${name}`).join("")})
         VALUES ($1, $2${names.map((_, at) => `, $${at + 3}`).join("")})
         RETURNING session_id`,
        [organizationId, instance!.instance_id, ...Object.values(given)],
      );
      return formatId("session", row!.session_id);
    },
    report(sessionId, ...updates) {
      const first = (seqs.get(sessionId) ?? 0) + 1;
      seqs.set(sessionId, first + updates.length - 1);
      return bed.reportFrom(instanceId, sessionId, first, updates);
    },
    reportFrom(fromInstance, sessionId, firstSeq, updates) {
      const from = { organizationId, instanceId: parseId("instance", fromInstance)! };
      const entries = updates.map(({ turnId = null, ...update }, at) => ({
        seq: firstSeq + at,
        at: "2026-11-15T10:00:00.000Z",
        turnId,
        // An update about a prompt contains its turn.
        update: update.sessionUpdate.startsWith("prompt_") ? { ...update, turnId } : update,
      }));
      return intake.accept(from, { journalId: "j1", sessions: [{ sessionId, entries }] });
    },
    async [Symbol.asyncDispose]() {
      await intake.close();
      await service[Symbol.asyncDispose]();
    },
  };
  return bed;
}

/** Notices within this process, which can be lost. */
export interface LocalNotices extends Notices {
  flush(): Promise<void>;
  /** Whether published notices are lost. */
  isDeaf: boolean;
  /** Every notice that was published. */
  published: { subject: string; data: string }[];
}

export function localNotices(): LocalNotices {
  const handlers = new Map<string, Set<(message: { data: Uint8Array }) => void>>();
  const notices: LocalNotices = {
    isDeaf: false,
    published: [],
    flush: () => Promise.resolve(),
    publish(subject, data) {
      notices.published.push({ subject, data });
      if (notices.isDeaf) return;
      for (const handle of handlers.get(subject) ?? []) handle({ data: Buffer.from(data) });
    },
    subscribe(subject, _options, handle) {
      const known = handlers.get(subject) ?? new Set();
      handlers.set(subject, known.add(handle));
      return () => known.delete(handle);
    },
  };
  return notices;
}
