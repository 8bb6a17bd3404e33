// All actions in one object, the only list of them. REST, MCP, OpenAPI, the action listing and the
// tests read it. Nothing public exists outside of it.
import type { Actions } from "./action.ts";
import { accessActions } from "./actions/access.ts";
import { agentActions } from "./actions/agents.ts";
import { exposureActions } from "./actions/exposures.ts";
import { identityActions } from "./actions/identities.ts";
import { instanceActions } from "./actions/instances.ts";
import { peopleActions } from "./actions/people.ts";
import { requestActions } from "./actions/requests.ts";
import { roleActions } from "./actions/roles.ts";
import { scheduleActions } from "./actions/schedules.ts";
import { sessionEntryActions } from "./actions/session-entry.ts";
import { sessionFileActions } from "./actions/session-files.ts";
import { sessionGrantActions } from "./actions/session-grants.ts";
import { sessionQueueActions } from "./actions/session-queue.ts";
import { sessionRuleActions } from "./actions/session-rules.ts";
import { sessionTurnActions } from "./actions/session-turns.ts";
import { sessionActions } from "./actions/sessions.ts";
import { triggerActions } from "./actions/triggers.ts";
import { webhookActions } from "./actions/webhooks.ts";

export const registry = {
  ...instanceActions,
  ...identityActions,
  ...agentActions,
  ...sessionActions,
  ...sessionTurnActions,
  ...sessionEntryActions,
  ...sessionQueueActions,
  ...sessionRuleActions,
  ...sessionFileActions,
  ...requestActions,
  ...exposureActions,
  ...scheduleActions,
  ...triggerActions,
  ...webhookActions,
  ...accessActions,
  ...roleActions,
  ...peopleActions,
  ...sessionGrantActions,
} as const satisfies Actions;

export type ActionName = keyof typeof registry;

/** Actions that are not among the interface's 49. All others are pinned to the interface. */
export const extensionNames = [
  "refresh_instance",
  "link_agent_identity",
  "search_instances",
  "search_sessions",
  "mark_session_read",
  "set_session_mode",
  "share_session",
  "list_session_events",
  "search_session_events",
  "read_session_entry",
  "list_session_turns",
  "list_session_commands",
  "wait_for_session",
  ...(Object.keys(sessionQueueActions) as (keyof typeof sessionQueueActions)[]),
  ...(Object.keys(sessionRuleActions) as (keyof typeof sessionRuleActions)[]),
  ...(Object.keys(sessionFileActions) as (keyof typeof sessionFileActions)[]),
  "search_requests",
  "get_request",
  "list_session_ports",
  "create_preview",
  "revoke_exposure",
  "preview_scheduled_prompt",
  "run_scheduled_prompt_now",
  "list_schedule_runs",
  ...(Object.keys(triggerActions) as (keyof typeof triggerActions)[]),
  ...(Object.keys(webhookActions) as (keyof typeof webhookActions)[]),
  ...(Object.keys(accessActions) as (keyof typeof accessActions)[]),
  ...(Object.keys(roleActions) as (keyof typeof roleActions)[]),
  ...(Object.keys(peopleActions) as (keyof typeof peopleActions)[]),
  ...(Object.keys(sessionGrantActions) as (keyof typeof sessionGrantActions)[]),
] as const satisfies readonly ActionName[];

export const actionNames = Object.keys(registry) as ActionName[];
