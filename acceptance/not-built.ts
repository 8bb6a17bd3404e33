// The promised actions that this version answers with 501, copied by hand, so that a change in the code has
// to be made here too. The list may only become shorter.
import { actionNames, type ActionName } from "@hawser/contract";
import type { RequirementId } from "./requirement-ids.ts";

export const notBuilt: readonly ActionName[] = [];

/**
 * The actions that a requirement's probe needs, beside the action of its row. A key that ends with a dot
 * stands for every id that begins with it.
 */
const neededFor = {
  "general.actions.all": actionNames,
  "general.capabilities": actionNames,
  "general.ids.other_organization": actionNames,
  "general.body.empty_object": ["list_scheduled_prompts"],
  "general.listing": actionNames,
  "general.version.additive": actionNames,
  "auth.identities.all": ["list_agent_identities"],
  "auth.identities.own": ["list_agent_identities"],
  "mcp.tools.permitted": actionNames,
  "mcp.tools.name": actionNames,
  "record.identity.": ["list_agent_identities"],
  "record.login.": ["start_agent_login"],
  // A schedule is one of the three starters.
  "record.session.startedBy": ["create_scheduled_prompt"],
  "record.session.forkedFrom": ["fork_session"],
  "record.exposure.": ["create_exposure"],
  "record.schedule.": ["create_scheduled_prompt"],
  "record.fallbackEntry.": ["set_fallback_chain"],
  "delete_instance.records": ["create_exposure"],
} satisfies Partial<Record<RequirementId | `record.${string}.`, readonly ActionName[]>>;

/** Whether every action is built that a requirement is about or that its probe needs. */
export function isBuilt({ id, action }: { id: string; action: string }): boolean {
  const unbuilt: readonly string[] = notBuilt;
  return (
    !unbuilt.includes(action) &&
    Object.entries<readonly ActionName[]>(neededFor).every(
      ([key, needed]) =>
        !(key.endsWith(".") ? id.startsWith(key) : id === key) ||
        needed.every((name) => !unbuilt.includes(name)),
    )
  );
}
