// Instances as callers see them: in lists, and one in detail. No token is ever part of one.
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
  ready: z.boolean().meta({ description: "Whether a session could be started with it now." }),
  problems: z.array(AgentProblem).meta({ description: "What blocks its use." }),
});

/** Something on a host that does not stop it, but that its owner should know. */
export const HostWarning = z.strictObject({
  code: z.string().meta({ description: "A stable word, such as git_outdated." }),
  message: z.string(),
});
export type HostWarning = z.infer<typeof HostWarning>;

/** Something a host is doing that takes a while, or has done a moment ago. */
export const HostOperation = z
  .strictObject({
    operationId: z.string(),
    type: z.enum(["clone_repository", "install_agent", "update_daemon"]),
    subject: z.string().meta({ description: "What it is about, such as opencode 1.18.33." }),
    state: z.enum(["running", "done", "failed"]),
    step: z.string().meta({ description: "What it is doing, or why it failed, in words." }),
    percent: z.int().min(0).max(100).nullable().meta({ description: "Null when nobody can tell." }),
    startedAt: Instant,
  })
  .meta({ id: "HostOperation", description: "Something a host is doing that takes a while." });
export type HostOperation = z.infer<typeof HostOperation>;

const listed = {
  instanceId: InstanceId,
  name: z.string(),
  status: InstanceStatus,
  statusReason: InstanceStatusReason.nullable().meta({
    description: "Why it is not simply online; null when it is.",
  }),
  host: HostFacts.nullable().meta({ description: "The machine; null before pairing." }),
  daemonVersion: z.string().nullable().meta({ description: "Null before pairing." }),
  agents: z.array(InstalledAgent).meta({ description: "Empty before pairing." }),
  activeSessionCount: z.int().min(0),
  lastSeenAt: Instant.nullable().meta({ description: "When its daemon was last heard." }),
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
    warnings: z.array(HostWarning).meta({ description: "What the host's owner should put right." }),
    operations: z
      .array(HostOperation)
      .meta({ description: "What the host is doing, and what it did in the last ten minutes." }),
    activeSessions: z.array(SessionListEntry),
    fallbackChain: z.array(FallbackEntry).meta({ description: "Empty when fallback is off." }),
    fallbackThreshold: z
      .int()
      .min(1)
      .max(100)
      .meta({ description: "Use of its quota, in percent, from which a kind is passed over." }),
  })
  .meta({ id: "InstanceDetail", description: "An instance with everything known of its host." });
export type InstanceDetail = z.infer<typeof InstanceDetail>;

/** What pairs a host; shown once. */
export const pairing = {
  pairingToken: z.string().meta({ description: "Pairs one host, once." }),
  installCommand: z.string().meta({ description: "The one command to run on the host." }),
  pairingTokenExpiresAt: Instant,
};
