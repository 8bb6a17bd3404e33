// What starts a session unattended: the prompt, where it runs, and with which agent. Scheduled prompts and triggers
// share these fields.
import { z } from "zod";
import { CloneUrl, HostedRepository } from "./clone-source.ts";
import { InstanceId } from "./ids.ts";
import { AgentKind, FallbackEntryInput } from "./records/agent-kind.ts";
import { AbsolutePath, text } from "./text.ts";

/** Exactly one of them is set. */
export const targets = ["directory", "cloneRepo", "cloneUrl"];

export const target = {
  directory: AbsolutePath.nullable().optional(),
  cloneRepo: HostedRepository.nullable().optional(),
  cloneUrl: CloneUrl.nullable().optional(),
};

export const name = text({ max: 120 }).meta({ description: "A name for people." });

export const prompt = text({ min: 1 }).meta({
  description: "What each new session is asked to do.",
});

/** The model that new sessions use. */
export const model = {
  providerId: z.string().meta({ description: "From list_models." }).optional(),
  modelId: z.string().meta({ description: "From list_models." }).optional(),
};

export const hosts = z.array(InstanceId).min(1).meta({
  description: "Hosts; the first that is reachable runs it.",
});

export const worktreeChoice = z
  .boolean()
  .meta({ description: "Default: true in a git repository." })
  .optional();

export const chain = z
  .array(FallbackEntryInput)
  .meta({ description: "Instead of the host's own." });

/** The fields with which a scheduled prompt or a trigger is created. */
export const template = {
  name: name.optional(),
  ...target,
  agentKind: AgentKind.meta({ description: "Default: the host's." }).optional(),
  ...model,
  useWorktree: worktreeChoice,
  fallbackChain: chain.optional(),
};
