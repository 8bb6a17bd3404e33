// What a caller decides about a schedule or trigger: the values of a new one, and those of one that is changed.
import {
  Refusal,
  notFound,
  parseId,
  type FallbackEntry,
  type InputOf,
  type scheduleActions,
  type triggerActions,
} from "@hawser/contract";
import type { TenantSql } from "../postgres/statement.ts";
import * as store from "./store.ts";
import { readStart } from "./timing.ts";

type Create = InputOf<(typeof scheduleActions)["create_scheduled_prompt"]>;
type Update = InputOf<(typeof scheduleActions)["update_scheduled_prompt"]>;
/** The fields that schedules and triggers share. */
type Shared = Pick<Create, keyof Create & keyof InputOf<(typeof triggerActions)["create_trigger"]>>;

const mostSchedules = 1_000;
/** list_scheduled_prompts shows all prompts in one answer. */
const mostPromptBytes = 16 * 1024 * 1024;
/**
 * Length of one prompt. A node keeps the prompts of up to 100 runs in memory. Of triggers up to 1,000 runs wait in
 * the database, each with a copy of its prompt.
 */
export const longestPrompts = {
  schedule: { bytes: 1024 * 1024, text: "1 MiB" },
  trigger: { bytes: 64 * 1024, text: "64 KiB" },
};
/** Size of a schedule's other fields together: names, paths, hosts and the fallback chain. */
const mostOtherBytes = 16 * 1024;

export async function newChoice(
  sql: TenantSql,
  input: Create,
  timeZone: string,
): Promise<store.ScheduleChoice> {
  return {
    ...(await newTemplate(sql, input)),
    frequency: input.frequency,
    start_at: readStart(input.startAt, timeZone).toISOString(),
  };
}

/** Throws `not_found` if a host is unknown. */
export async function newTemplate(sql: TenantSql, input: Shared): Promise<store.Template> {
  return {
    name: input.name ?? null,
    prompt: input.prompt,
    directory: input.directory ?? null,
    clone_repo: input.cloneRepo ?? null,
    clone_url: input.cloneUrl ?? null,
    instance_ids: await findInstances(sql, input.instanceIds),
    agent_kind: input.agentKind ?? null,
    provider_id: input.providerId ?? null,
    model_id: input.modelId ?? null,
    use_worktree: input.useWorktree ?? null,
    fallback_chain: input.fallbackChain ? chainOf(input.fallbackChain) : null,
  };
}

/** The stored values, except those that the caller has sent. */
export async function changedChoice(
  sql: TenantSql,
  stored: store.ScheduleChoice,
  input: Update,
  timeZone: string,
): Promise<store.ScheduleChoice> {
  const { instanceIds, fallbackChain: chain, startAt } = input;
  return {
    name: given(input.name, stored.name),
    prompt: given(input.prompt, stored.prompt),
    ...changedTarget(stored, input),
    instance_ids: instanceIds ? await findInstances(sql, instanceIds) : stored.instance_ids,
    agent_kind: given(input.agentKind, stored.agent_kind),
    provider_id: given(input.providerId, stored.provider_id),
    model_id: given(input.modelId, stored.model_id),
    use_worktree: given(input.useWorktree, stored.use_worktree),
    fallback_chain: given(chain && chainOf(chain), stored.fallback_chain),
    frequency: given(input.frequency, stored.frequency),
    start_at: startAt ? readStart(startAt, timeZone).toISOString() : stored.start_at,
  };
}

/** Undefined counts as not sent; null is a value. */
export const given = <Value>(sent: Value | undefined, stored: Value): Value =>
  sent === undefined ? stored : sent;

/** A target that is sent replaces the stored one. Throws `invalid_input` if none remains. */
function changedTarget(
  { directory, clone_repo, clone_url }: store.ScheduleChoice,
  input: Update,
): Pick<store.ScheduleChoice, "directory" | "clone_repo" | "clone_url"> {
  const sent = {
    directory: input.directory ?? null,
    clone_repo: input.cloneRepo ?? null,
    clone_url: input.cloneUrl ?? null,
  };
  if (Object.values(sent).some((value) => value !== null)) return sent;
  const kept = {
    directory: given(input.directory, directory),
    clone_repo: given(input.cloneRepo, clone_repo),
    clone_url: given(input.cloneUrl, clone_url),
  };
  if (Object.values(kept).some((value) => value !== null)) return kept;
  const field = directory !== null ? "directory" : clone_repo !== null ? "cloneRepo" : "cloneUrl";
  throw new Refusal(
    "invalid_input",
    `A scheduled prompt needs a target, and ${field} is its only one. Send another target instead.`,
    { fields: [{ field, message: "must not be null, because it is the only target" }] },
  );
}

const chainOf = (chain: NonNullable<Create["fallbackChain"]>): FallbackEntry[] =>
  chain.map(({ kind, providerId = null, modelId = null }) => ({ kind, providerId, modelId }));

/** Stored ids in the order given; one that is repeated counts once. Throws `not_found` if one is unknown. */
async function findInstances(sql: TenantSql, shownIds: string[]): Promise<string[]> {
  const ids = [...new Set(shownIds)].map((id) => parseId("instance", id));
  if (!ids.every((id) => id !== null)) throw notFound("instance");
  const found = await sql.rows(store.selectInstances, sql.organizationId, ids);
  if (found.length < ids.length) throw notFound("instance");
  return ids;
}

/** Throws `limit_reached` if a single schedule or trigger would be too large. */
export function refuseTooLarge(
  { prompt, ...rest }: { prompt: string },
  longest = longestPrompts.schedule,
): void {
  if (Buffer.byteLength(prompt) > longest.bytes) {
    throw new Refusal(
      "limit_reached",
      `The prompt may have ${longest.text}. Put what is longer into a file of the repository, and name the file.`,
    );
  }
  if (Buffer.byteLength(JSON.stringify(rest)) > mostOtherBytes) {
    throw new Refusal(
      "limit_reached",
      "The fields other than the prompt may have 16 KiB together. Name fewer hosts, or use a shorter chain.",
    );
  }
}

/**
 * Throws `limit_reached` if the organization would have too many schedules and triggers, or too long prompts
 * together. The one with the id `replaced` does not count.
 */
export async function refuseBeyondLimits(
  sql: TenantSql,
  prompt: string,
  replaced: string | null,
): Promise<void> {
  const others = await sql.first(store.countOthers, sql.organizationId, replaced);
  if (others!.schedules >= mostSchedules) {
    throw new Refusal(
      "limit_reached",
      `The organization has ${mostSchedules.toLocaleString("en")} scheduled prompts and triggers, which is the maximum. Delete one with delete_scheduled_prompt or delete_trigger first.`,
    );
  }
  if (others!.prompt_bytes + Buffer.byteLength(prompt) > mostPromptBytes) {
    throw new Refusal(
      "limit_reached",
      "The prompts of all schedules and triggers of the organization may have 16 MiB together. Shorten this one, or delete another.",
    );
  }
}
