// The promised actions that this version answers with 501, copied by hand, so that a change in the code has
// to be made here too. The list may only become shorter.
import type { ActionName } from "@hawser/contract";

export const notBuilt: readonly ActionName[] = [
  "list_agent_identities",
  "start_agent_login",
  "poll_agent_login",
  "submit_agent_login",
  "unlink_agent_identity",
  "set_fallback_chain",
  "fork_session",
  "list_exposures",
  "create_exposure",
  "list_scheduled_prompts",
  "create_scheduled_prompt",
  "update_scheduled_prompt",
  "set_scheduled_prompt_enabled",
  "delete_scheduled_prompt",
];
