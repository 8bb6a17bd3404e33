// Instances as callers see them: in lists, and in detail. They never contain a token.
import { z } from "zod";
import { InstanceId } from "../ids.ts";
import { Instant } from "../moments.ts";
import { AgentKind, AgentProblem, FallbackEntry } from "./agent-kind.ts";
import { RootRecord } from "./directory.ts";
import { SessionListEntry } from "./session.ts";

export const InstanceStatus = z.enum(["pairing", "online", "offline"]);
export type InstanceStatus = z.infer<typeof InstanceStatus>;

export const InstanceStatusReason = z.enum([
  "never_paired",
  "link_lost",
  "daemon_stopped",
  "daemon_stalled",
  "moving",
  "revoked",
  "duplicate_host",
  "draining",
]);
export type InstanceStatusReason = z.infer<typeof InstanceStatusReason>;

const HostFacts = z.strictObject({ hostname: z.string(), os: z.string(), arch: z.string() });

const InstalledAgent = z.strictObject({
  kind: AgentKind,
  installed: z.boolean(),
  version: z.string().nullable(),
  ready: z.boolean().meta({ description: "Whether a session can be started with it now." }),
  problems: z.array(AgentProblem).meta({ description: "Why it cannot be used." }),
});

/** A problem on a host that does not stop it, but that its owner should solve. */
export const HostWarning = z.strictObject({
  code: z.string().meta({ description: "A stable word, such as git_outdated." }),
  message: z.string(),
});
export type HostWarning = z.infer<typeof HostWarning>;

/** A long operation that a host is running, or has finished recently. */
export const HostOperation = z
  .strictObject({
    operationId: z.string(),
    type: z.enum(["clone_repository", "install_agent", "update_daemon"]),
    subject: z.string().meta({ description: "Its subject, such as opencode 1.18.33." }),
    state: z.enum(["running", "done", "failed"]),
    step: z.string().meta({ description: "The present step, or why it failed." }),
    percent: z.int().min(0).max(100).nullable().meta({ description: "Null if unknown." }),
    startedAt: Instant,
  })
  .meta({ id: "HostOperation", description: "A long operation on a host." });
export type HostOperation = z.infer<typeof HostOperation>;

const listed = {
  instanceId: InstanceId,
  name: z.string(),
  status: InstanceStatus,
  statusReason: InstanceStatusReason.nullable().meta({
    description: "Why it has this status; null if it is online without restriction.",
  }),
  host: HostFacts.nullable().meta({ description: "The machine; null before pairing." }),
  daemonVersion: z.string().nullable().meta({ description: "Null before pairing." }),
  agents: z.array(InstalledAgent).meta({ description: "Empty before pairing." }),
  activeSessionCount: z.int().min(0),
  lastSeenAt: Instant.nullable().meta({
    description: "When its host was last seen; at most about five minutes ago while it is online.",
  }),
  createdAt: Instant,
};

export const InstanceRecord = z
  .strictObject(listed)
  .meta({ id: "Instance", description: "The service's record of a host." });
export type InstanceRecord = z.infer<typeof InstanceRecord>;

export const InstanceDetail = z
  .strictObject({
    ...listed,
    roots: z.array(RootRecord),
    codeHostingCli: z
      .strictObject({
        installed: z.boolean(),
        loggedIn: z.boolean(),
        account: z.string().nullable(),
      })
      .nullable()
      .meta({ description: "The host's own code-hosting client; null before pairing." }),
    warnings: z
      .array(HostWarning)
      .meta({ description: "Problems that the host's owner should solve." }),
    operations: z
      .array(HostOperation)
      .meta({ description: "Operations that run, or that ended within the last ten minutes." }),
    activeSessions: z.array(SessionListEntry),
    fallbackChain: z.array(FallbackEntry).meta({ description: "Empty if fallback is off." }),
    fallbackThreshold: z
      .int()
      .min(1)
      .max(100)
      .meta({ description: "Percent of its quota from which a kind is skipped." }),
  })
  .meta({ id: "InstanceDetail", description: "An instance with all facts of its host." });
export type InstanceDetail = z.infer<typeof InstanceDetail>;

/** Fields that pair a host; shown once. */
export const pairing = {
  pairingToken: z.string().meta({ description: "Pairs one host, once." }),
  installCommand: z.string().meta({ description: "The one command to run on the host." }),
  pairingTokenExpiresAt: Instant,
};
