// Instances as callers see them: in lists, and in detail. They never contain a token.
import { z } from "zod";
import { InstanceId } from "../ids.ts";
import { CreatedAt, Instant } from "../moments.ts";
import { AgentKind, AgentProblem, FallbackEntry } from "./agent-kind.ts";
import { RootRecord } from "./directory.ts";
import { SessionListEntry } from "./session.ts";

export const InstanceStatus = z.enum(["pairing", "online", "offline"]).meta({
  description: "pairing: no host has joined yet. online: connected. offline: not connected.",
});
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

const HostFacts = z.strictObject({
  hostname: z.string().meta({ description: "The machine's own name." }),
  os: z.string().meta({ description: "Its operating system." }),
  arch: z.string().meta({ description: "Its processor architecture." }),
});

const InstalledAgent = z.strictObject({
  kind: AgentKind,
  installed: z.boolean().meta({ description: "Whether the host has it." }),
  version: z.string().nullable().meta({ description: "Null if it is not installed." }),
  ready: z.boolean().meta({ description: "Whether a session can be started with it now." }),
  problems: z.array(AgentProblem).meta({ description: "Why it cannot be used." }),
});

/** A problem on a host that does not stop it, but that its owner should solve. */
export const HostWarning = z.strictObject({
  code: z.string().meta({ description: "A stable word, such as git_outdated." }),
  message: z.string().meta({ description: "What is wrong, and what to do." }),
});
export type HostWarning = z.infer<typeof HostWarning>;

/** A long operation that a host is running, or has finished recently. */
export const HostOperation = z
  .strictObject({
    operationId: z.string().meta({ description: "Identifies the operation on this host." }),
    type: z
      .enum(["clone_repository", "install_agent", "update_daemon"])
      .meta({ description: "What the host is doing." }),
    subject: z.string().meta({ description: "Its subject, such as opencode 1.18.33." }),
    state: z.enum(["running", "done", "failed"]).meta({ description: "How far it is." }),
    step: z.string().meta({ description: "The present step, or why it failed." }),
    percent: z.int().min(0).max(100).nullable().meta({ description: "Null if unknown." }),
    startedAt: Instant.meta({ description: "When it began." }),
  })
  .meta({ id: "HostOperation", description: "A long operation on a host." });
export type HostOperation = z.infer<typeof HostOperation>;

const listed = {
  instanceId: InstanceId,
  name: z.string().meta({ description: "The name that callers gave it." }),
  status: InstanceStatus,
  statusReason: InstanceStatusReason.nullable().meta({
    description: "Why it has this status; null if it is online without restriction.",
  }),
  host: HostFacts.nullable().meta({ description: "The machine; null before pairing." }),
  daemonVersion: z.string().nullable().meta({ description: "Null before pairing." }),
  agents: z.array(InstalledAgent).meta({ description: "Empty before pairing." }),
  activeSessionCount: z.int().min(0).meta({ description: "Sessions that have not ended." }),
  lastSeenAt: Instant.nullable().meta({
    description: "When its host was last seen; at most about five minutes ago while it is online.",
  }),
  createdAt: CreatedAt,
};

export const InstanceRecord = z
  .strictObject(listed)
  .meta({ id: "Instance", description: "The service's record of a host." });
export type InstanceRecord = z.infer<typeof InstanceRecord>;

export const InstanceDetail = z
  .strictObject({
    ...listed,
    pairedAt: Instant.nullable().meta({
      description:
        "When its present machine was paired, which is before it first connects; null before that.",
    }),
    roots: z.array(RootRecord),
    codeHostingCli: z
      .strictObject({
        installed: z.boolean().meta({ description: "Whether the host has it." }),
        loggedIn: z.boolean().meta({ description: "Whether it has an account." }),
        account: z.string().nullable().meta({ description: "Null if it is logged out." }),
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
  pairingTokenExpiresAt: Instant.meta({ description: "15 minutes after the call." }),
};
