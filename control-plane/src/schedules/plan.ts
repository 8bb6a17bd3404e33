// What one run of a schedule or trigger does, fixed when the run is claimed.
import type { AgentKind, FallbackEntry } from "@hawser/contract";

/** The calls of a run are made from this alone, so that every node makes the same ones. */
export interface RunPlan {
  name: string | null;
  prompt: string;
  directory: string | null;
  cloneRepo: string | null;
  cloneUrl: string | null;
  /** Stored ids, in the order in which they are tried. */
  instanceIds: string[];
  /** The key that each of these hosts had when the schedule was saved; null if keys were not recorded then. */
  hostKeys?: (string | null)[] | null;
  agentKind: AgentKind | null;
  providerId: string | null;
  modelId: string | null;
  useWorktree: boolean | null;
  fallbackChain: FallbackEntry[] | null;
  /** Whether a caller asked for the run. Otherwise it was due by its time. */
  isRequested: boolean;
  /** Whether a delivery to a trigger started it. */
  isTriggered?: boolean;
}

/** SQL of what is kept of a plan when it is no longer needed: runs are kept for longer than prompts should be. */
export const endedPlanSql = (plan: string) =>
  `jsonb_build_object('isRequested', ${plan} -> 'isRequested')`;

/** SQL that ends a row of `schedule_runs r` that has asked no host, and says why. */
export const skippedSql = (failure: string) =>
  `step = 'ended', outcome = 'skipped', ended_at = hawser_now(), plan = ${endedPlanSql("r.plan")}, failure = ${failure}`;

export const pausedSql = `'It was paused before the run started.'`;

/** SQL that makes the plan from a row of `schedules`, which `row` names. */
export function planSql(row: string, isRequested: boolean): string {
  return `jsonb_build_object('name', ${row}.name, 'prompt', ${row}.prompt, 'directory', ${row}.directory,
            'cloneRepo', ${row}.clone_repo, 'cloneUrl', ${row}.clone_url,
            'instanceIds', to_jsonb(${row}.instance_ids), 'hostKeys', to_jsonb(${row}.host_keys),
            'agentKind', ${row}.agent_kind,
            'providerId', ${row}.provider_id, 'modelId', ${row}.model_id,
            'useWorktree', ${row}.use_worktree, 'fallbackChain', ${row}.fallback_chain,
            'isRequested', ${isRequested}, 'isTriggered', ${row}.frequency = 'event')`;
}
