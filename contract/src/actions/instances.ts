// Hosts: listing, pairing, renaming and removing them, and reading their directories and agents.
import { z } from "zod";
import { action } from "../action.ts";
import { CheckoutName, CloneUrl, HostedRepository } from "../clone-source.ts";
import { hostRefusals } from "../errors.ts";
import { exactlyOneOf } from "../exactly-one.ts";
import { InstanceId } from "../ids.ts";
import { Cursor, NextCursor, limit } from "../pages.ts";
import { AgentKind, AgentKindRecord, ModelListing } from "../records/agent-kind.ts";
import {
  DirectoryRecord,
  HostedRepositoryRecord,
  RootListing,
  freshness,
} from "../records/directory.ts";
import { InstanceDetail, InstanceRecord, InstanceStatus, pairing } from "../records/instance.ts";
import { AbsolutePath, text } from "../text.ts";

const InstanceName = text({ min: 1, max: 80 }).meta({ description: "A name for people." });

export const instanceActions = {
  list_instances: action({
    summary: "List the organization's hosts, ordered by name.",
    details: "At most 1,000; search_instances pages through all.",
    group: "hosts",
    permission: "instances:view",
    effect: "reads",
    reach: "records",
    pagedBy: "search_instances",
    input: z.strictObject({}),
    result: z.strictObject({
      instances: z.array(InstanceRecord),
      total: z.int().min(0).meta({ description: "The number of all hosts." }),
      truncated: z.boolean().meta({ description: "True if the list is incomplete." }),
    }),
    refusals: [],
  }),

  get_instance: action({
    summary: "Show one host in detail: machine, agents, roots and active sessions.",
    details: "The answer never contains tokens or credentials.",
    group: "hosts",
    permission: "instances:view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({ instanceId: InstanceId }),
    result: InstanceDetail,
    refusals: ["not_found"],
  }),

  list_directories: action({
    summary: "List a host's roots and the projects directly below its folder roots.",
    details: "If the host is offline, the last answer is repeated with `live` false.",
    group: "code",
    permission: "instances:view",
    effect: "reads",
    reach: "host",
    input: z.strictObject({ instanceId: InstanceId }),
    result: z.strictObject({ roots: z.array(RootListing), ...freshness }),
    refusals: ["not_found"],
  }),

  browse_directory: action({
    summary: "List the directories inside a directory of a host.",
    details: "A path outside of all roots is not found, whether or not it exists.",
    group: "code",
    permission: "instances:view",
    effect: "reads",
    reach: "host",
    input: z.strictObject({ instanceId: InstanceId, path: AbsolutePath }),
    result: z.strictObject({
      directories: z.array(DirectoryRecord),
      truncated: z.boolean().meta({ description: "True if the list is incomplete." }),
    }),
    refusals: ["not_found", ...hostRefusals],
  }),

  list_github_repos: action({
    summary: "List the hosted repositories that the host's own code-hosting client can reach.",
    details: "If the client is missing or logged out, the list is empty and `reason` says which.",
    group: "code",
    permission: "instances:view",
    effect: "reads",
    reach: "host",
    input: z.strictObject({
      instanceId: InstanceId,
      query: z.string().meta({ description: "A part of owner/name." }).optional(),
      limit: limit({ max: 500, default: 100 }),
    }),
    result: z.strictObject({
      repositories: z.array(HostedRepositoryRecord),
      reason: z
        .enum(["cli_not_installed", "not_logged_in"])
        .nullable()
        .meta({ description: "Why the list is empty; null if the client works." }),
    }),
    refusals: ["not_found", ...hostRefusals],
  }),

  list_models: action({
    summary: "List the AI providers and models that an agent kind can use on a host.",
    group: "hosts",
    permission: "instances:view",
    effect: "reads",
    reach: "host",
    input: z.strictObject({
      instanceId: InstanceId,
      agentKind: AgentKind.meta({
        description: "Default: the host's.",
      }).optional(),
    }),
    result: ModelListing,
    refusals: ["not_found", "agent_not_ready", ...hostRefusals],
  }),

  list_agent_kinds: action({
    summary: "Show for each agent kind whether it is ready on a host, and what it can do.",
    details: "If the host is offline, the last answer is repeated with `live` false.",
    group: "hosts",
    permission: "instances:view",
    effect: "reads",
    reach: "host",
    input: z.strictObject({ instanceId: InstanceId }),
    result: z.strictObject({ agentKinds: z.array(AgentKindRecord), ...freshness }),
    refusals: ["not_found"],
  }),

  create_instance: action({
    summary: "Register a host and get the install command that pairs it.",
    details: "Token and command work once, within 15 minutes, and are shown only here.",
    group: "hosts",
    permission: "instances:edit",
    effect: "changes",
    reach: "records",
    input: z.strictObject({ name: InstanceName }),
    result: z.strictObject({ instance: InstanceRecord, ...pairing }),
    refusals: [],
    resultHoldsSecret: true,
    closedToAgents: true,
  }),

  regenerate_pairing_token: action({
    summary: "Make a new pairing token and install command for a host.",
    details:
      "The old token stops working at once. A paired host keeps working until another machine redeems the new token.",
    group: "hosts",
    permission: "instances:edit",
    effect: "changes",
    reach: "records",
    input: z.strictObject({ instanceId: InstanceId }),
    result: z.strictObject({ instanceId: InstanceId, ...pairing }),
    refusals: ["not_found"],
    resultHoldsSecret: true,
    closedToAgents: true,
  }),

  update_instance: action({
    summary: "Rename a host's record.",
    group: "hosts",
    permission: "instances:edit",
    effect: "changes",
    idempotent: true,
    reach: "records",
    input: z.strictObject({ instanceId: InstanceId, name: InstanceName }),
    result: InstanceRecord,
    refusals: ["not_found"],
    closedToAgents: true,
  }),

  delete_instance: action({
    summary: "Remove a host from the service, with its sessions' records and exposures.",
    details:
      "Its credential is revoked; a connected daemon deletes it and stops. Files on the host stay.",
    group: "hosts",
    permission: "instances:delete",
    effect: "destroys",
    idempotent: true,
    reach: "host",
    input: z.strictObject({ instanceId: InstanceId }),
    result: z.strictObject({
      instanceId: InstanceId,
      deleted: z.literal(true).meta({ description: "Always true." }),
    }),
    refusals: ["not_found"],
    closedToAgents: true,
  }),

  clone_repository: action({
    summary: "Clone a repository into a folder root of a host, with the host's own credentials.",
    details:
      "Give exactly one of `repo` and `url`. An existing directory is never overwritten. A long clone is answered `in_progress`; the instance's `operations` show it.",
    group: "code",
    permission: "instances:edit",
    effect: "changes",
    reach: "host",
    shownBy: "get_instance",
    input: z
      .strictObject({
        instanceId: InstanceId,
        rootPath: AbsolutePath.meta({ description: "One of the instance's folder roots." }),
        repo: HostedRepository.optional(),
        url: CloneUrl.optional(),
        name: CheckoutName.optional(),
      })
      .check(exactlyOneOf("repo", "url")),
    result: DirectoryRecord,
    refusals: ["not_found", "already_exists", ...hostRefusals],
    closedToAgents: true,
  }),

  refresh_instance: action({
    summary: "Make a host inspect itself again, and show the result.",
    group: "hosts",
    permission: "instances:edit",
    effect: "changes",
    idempotent: true,
    reach: "host",
    input: z.strictObject({ instanceId: InstanceId }),
    result: InstanceDetail,
    refusals: ["not_found", ...hostRefusals],
    closedToAgents: true,
  }),

  search_instances: action({
    summary: "Page through the organization's hosts, by name or status.",
    group: "hosts",
    permission: "instances:view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({
      query: z
        .string()
        .meta({ description: "Returns only hosts whose name begins with this text, in any case." })
        .optional(),
      status: InstanceStatus.optional(),
      cursor: Cursor.optional(),
      limit: limit({ max: 200, default: 50 }),
    }),
    result: z.strictObject({ instances: z.array(InstanceRecord), nextCursor: NextCursor }),
    refusals: [],
  }),
};
