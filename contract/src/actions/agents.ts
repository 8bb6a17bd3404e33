// The agents and the daemon of a host: installing, updating and restarting them, and which agent kind is
// used if the preferred one is not ready.
import { z } from "zod";
import { action } from "../action.ts";
import { hostRefusals } from "../errors.ts";
import { InstanceId, SessionId } from "../ids.ts";
import { AgentKind, FallbackEntry, FallbackEntryInput } from "../records/agent-kind.ts";

const onInstance = z.strictObject({ instanceId: InstanceId });
const kindOnInstance = z.strictObject({ instanceId: InstanceId, kind: AgentKind });

/** Result of an install or update, or that it has begun. */
const InstallOutcome = z
  .strictObject({
    instanceId: InstanceId,
    status: z.enum(["installed", "in_progress", "not_applicable"]).meta({
      description:
        "installed: the host has `version`. in_progress: the host has accepted the order.",
    }),
    version: z
      .string()
      .nullable()
      .meta({ description: "The version that is or will be installed." }),
    message: z.string().nullable().meta({ description: "What to know about it." }),
  })
  .meta({ id: "InstallOutcome", description: "Result of an install or update." });

const RestartOutcome = z
  .strictObject({
    instanceId: InstanceId,
    kind: AgentKind,
    detachedSessionIds: z
      .array(SessionId)
      .meta({ description: "They resume with their next prompt." }),
  })
  .meta({ id: "RestartOutcome", description: "The sessions a restart has detached." });

export const agentActions = {
  restart_opencode: action({
    summary: "Restart the opencode server that the service runs on a host.",
    details: "Interrupts running turns; their sessions resume with the next prompt.",
    group: "hosts",
    permission: "settings:edit",
    effect: "changes",
    reach: "host",
    shownBy: "list_agent_kinds",
    input: onInstance,
    result: RestartOutcome,
    refusals: ["not_found", "agent_not_ready", ...hostRefusals],
    closedToAgents: true,
  }),

  update_opencode: action({
    summary: "Update opencode on a host to the version the service ships.",
    details: "Answers when the host has accepted the order; list_agent_kinds shows the version.",
    group: "hosts",
    permission: "settings:edit",
    effect: "changes",
    idempotent: true,
    reach: "host",
    input: onInstance,
    result: InstallOutcome,
    refusals: ["not_found", ...hostRefusals],
    closedToAgents: true,
  }),

  update_agent: action({
    summary: "Update a host's daemon to the version the service publishes.",
    details: "The daemon restarts itself; opencode sessions continue meanwhile.",
    group: "hosts",
    permission: "settings:edit",
    effect: "changes",
    idempotent: true,
    reach: "host",
    input: onInstance,
    result: InstallOutcome,
    refusals: ["not_found", ...hostRefusals],
    closedToAgents: true,
  }),

  install_agent_kind: action({
    summary: "Install claude_code or codex on a host, in the version the service ships.",
    details: "Installs into the daemon's own directory. The answer for opencode is not_applicable.",
    group: "hosts",
    permission: "settings:edit",
    effect: "changes",
    idempotent: true,
    reach: "host",
    input: kindOnInstance,
    result: InstallOutcome,
    refusals: ["not_found", ...hostRefusals],
    closedToAgents: true,
  }),

  update_agent_kind: action({
    summary: "Update claude_code or codex on a host to the version the service ships.",
    details: "The answer for opencode is not_applicable; use update_opencode and restart_opencode.",
    group: "hosts",
    permission: "settings:edit",
    effect: "changes",
    idempotent: true,
    reach: "host",
    input: kindOnInstance,
    result: InstallOutcome,
    refusals: ["not_found", ...hostRefusals],
    closedToAgents: true,
  }),

  restart_agent_kind: action({
    summary: "Restart an agent kind on a host; its sessions are detached.",
    details:
      "Interrupts running turns. Conversations are kept; sessions resume with the next prompt.",
    group: "hosts",
    permission: "settings:edit",
    effect: "changes",
    reach: "host",
    shownBy: "list_agent_kinds",
    input: kindOnInstance,
    result: RestartOutcome,
    refusals: ["not_found", "agent_not_ready", ...hostRefusals],
    closedToAgents: true,
  }),

  set_fallback_chain: action({
    summary: "Set which agent kinds a host's new sessions use, in order.",
    details:
      "A kind is skipped if it is not ready or if `threshold` percent of its quota are used. An empty chain switches fallback off. An omitted threshold is reset to 90.",
    group: "hosts",
    permission: "settings:edit",
    effect: "changes",
    idempotent: true,
    reach: "records",
    input: z.strictObject({
      instanceId: InstanceId,
      chain: z.array(FallbackEntryInput).meta({ description: "The preferred kind first." }),
      threshold: z
        .int()
        .min(1)
        .max(100)
        .meta({ description: "Percent of a kind's quota.", default: 90 })
        .optional(),
    }),
    result: z.strictObject({
      instanceId: InstanceId,
      fallbackChain: z.array(FallbackEntry).meta({ description: "Empty if fallback is off." }),
      fallbackThreshold: z
        .int()
        .min(1)
        .max(100)
        .meta({ description: "Percent of a kind's quota." }),
    }),
    refusals: ["not_found"],
    closedToAgents: true,
  }),
};
