// The agents and the daemon of a host: installing, updating and restarting them, and which agent
// takes over when the preferred one cannot work.
import { z } from "zod";
import { action } from "../action.ts";
import { hostRefusals } from "../errors.ts";
import { InstanceId, SessionId } from "../ids.ts";
import { AgentKind, FallbackEntry, FallbackEntryInput } from "../records/agent-kind.ts";

const onInstance = z.strictObject({ instanceId: InstanceId });
const kindOnInstance = z.strictObject({ instanceId: InstanceId, kind: AgentKind });

/** How an install or update went, or that it has begun. */
const InstallOutcome = z
  .strictObject({
    instanceId: InstanceId,
    status: z.enum(["installed", "in_progress", "not_applicable"]).meta({
      description: "installed: the host has `version`. in_progress: the host has taken the order.",
    }),
    version: z.string().nullable().meta({ description: "The version that is or will be there." }),
    message: z.string().nullable(),
  })
  .meta({ id: "InstallOutcome", description: "How an install or update went." });

const RestartOutcome = z
  .strictObject({
    instanceId: InstanceId,
    kind: AgentKind,
    detachedSessionIds: z.array(SessionId),
  })
  .meta({ id: "RestartOutcome", description: "The sessions a restart has detached." });

export const agentActions = {
  restart_opencode: action({
    summary: "Restart the opencode server that the service runs on a host.",
    details:
      "Running opencode turns are interrupted; their sessions become detached and come back with the next prompt.",
    permission: "settings:edit",
    effect: "changes",
    reach: "host",
    input: onInstance,
    result: RestartOutcome,
    refusals: ["not_found", "agent_not_ready", ...hostRefusals],
    closedToAgents: true,
  }),

  update_opencode: action({
    summary: "Bring opencode on a host to the newest release the service knows.",
    details: "Answers once the host has taken the order; list_agent_kinds shows the version.",
    permission: "settings:edit",
    effect: "changes",
    reach: "host",
    input: onInstance,
    result: InstallOutcome,
    refusals: ["not_found", ...hostRefusals],
    closedToAgents: true,
  }),

  update_agent: action({
    summary: "Have a host's daemon replace itself with the version the service publishes.",
    details: "The daemon restarts itself; opencode sessions run on meanwhile.",
    permission: "settings:edit",
    effect: "changes",
    reach: "host",
    input: onInstance,
    result: InstallOutcome,
    refusals: ["not_found", ...hostRefusals],
    closedToAgents: true,
  }),

  install_agent_kind: action({
    summary: "Install claude_code or codex on a host, in the version the service ships.",
    details:
      "It goes into the daemon's own directory. Nothing else ever installs an agent. opencode is answered with not_applicable.",
    permission: "settings:edit",
    effect: "changes",
    reach: "host",
    input: kindOnInstance,
    result: InstallOutcome,
    refusals: ["not_found", ...hostRefusals],
    closedToAgents: true,
  }),

  update_agent_kind: action({
    summary: "Bring claude_code or codex on a host to the version the service ships.",
    details:
      "opencode is answered with not_applicable; update_opencode and restart_opencode serve it.",
    permission: "settings:edit",
    effect: "changes",
    reach: "host",
    input: kindOnInstance,
    result: InstallOutcome,
    refusals: ["not_found", ...hostRefusals],
    closedToAgents: true,
  }),

  restart_agent_kind: action({
    summary: "Detach every session of an agent kind on a host, so that each starts afresh.",
    details:
      "Running turns are interrupted. Conversations are kept, and the next prompt brings a session back.",
    permission: "settings:edit",
    effect: "changes",
    reach: "host",
    input: kindOnInstance,
    result: RestartOutcome,
    refusals: ["not_found", "agent_not_ready", ...hostRefusals],
    closedToAgents: true,
  }),

  set_fallback_chain: action({
    summary:
      "Set which agent kinds a host's new sessions turn to when the preferred one cannot work.",
    details:
      "A kind is passed over when it is not ready or when its quota is used up to `threshold`. An empty chain switches fallback off. Running turns are not touched. A threshold left out becomes 90 again.",
    permission: "settings:edit",
    effect: "changes",
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
      fallbackChain: z.array(FallbackEntry),
      fallbackThreshold: z.int().min(1).max(100),
    }),
    refusals: ["not_found"],
    closedToAgents: true,
  }),
};
