// Agent kinds: their names, what each can do on a host, their models, and fallback chains.
import { z } from "zod";

/** Coding agents that the service can run. */
export const AgentKind = z
  .enum(["opencode", "claude_code", "codex"])
  .meta({ description: "The coding agent." });
export type AgentKind = z.infer<typeof AgentKind>;

/** Kinds to which a user can link an account; opencode uses the host's providers. */
export const LinkableKind = AgentKind.exclude(["opencode"]).meta({
  description: "The coding agent.",
});
export type LinkableKind = z.infer<typeof LinkableKind>;

/** What an agent kind can do in addition to accepting prompts. */
export const Capability = z.enum([
  "commands",
  "diff",
  "fork",
  "questions",
  "revert",
  "shell",
  "subAgents",
  "summarize",
]);
export type Capability = z.infer<typeof Capability>;

/** Why an agent kind cannot be used on a host. */
export const AgentProblem = z.strictObject({
  code: z.string().meta({ description: "A stable word, such as not_installed." }),
  message: z.string().meta({ description: "What is wrong, and what to do." }),
});
export type AgentProblem = z.infer<typeof AgentProblem>;

/** A model parameter a caller may set. */
const AgentOption = z.strictObject({
  id: z.string().meta({ description: "The key to use in `options`." }),
  name: z.string().meta({ description: "A name for people." }),
  values: z.array(z.string()).meta({ description: "All values that the option accepts." }),
  default: z.string().nullable().meta({ description: "Null if the agent decides." }),
});

/** One agent kind on one host, for one caller. */
export const AgentKindRecord = z
  .strictObject({
    kind: AgentKind,
    installed: z.boolean().meta({ description: "Whether the host has it." }),
    version: z.string().nullable().meta({ description: "Null if it is not installed." }),
    authenticated: z
      .boolean()
      .meta({ description: "Whether this caller could start a session with it now." }),
    problems: z
      .array(AgentProblem)
      .meta({ description: "Why it cannot be used; empty if it can." }),
    capabilities: z.array(Capability).meta({ description: "What it can do beside prompts." }),
    options: z.array(AgentOption).meta({ description: "Model parameters that `options` may set." }),
    variants: z
      .array(
        z.strictObject({
          providerId: z.string().meta({ description: "The model's provider." }),
          modelId: z.string().meta({ description: "A model that has variants." }),
          variants: z
            .array(z.string())
            .meta({ description: "Its variants; one of `options` chooses among them." }),
        }),
      )
      .meta({ description: "The models with variants, such as levels of reasoning." }),
    modes: z.array(z.string()).meta({
      description:
        "Modes and sub-agents that `agent` may name. Without `agent` the first is used, unless the host's user has set another default.",
    }),
    commands: z.array(z.string()).meta({
      description: "Slash commands for run_command, without the slash; a repository may add some.",
    }),
  })
  .meta({ id: "AgentKind", description: "An agent kind on one host." });
export type AgentKindRecord = z.infer<typeof AgentKindRecord>;

/** A model together with the provider that serves it. */
export const ModelChoice = z
  .strictObject({
    providerId: z.string().meta({ description: "The AI provider." }),
    modelId: z.string().meta({ description: "One of the provider's models." }),
  })
  .meta({ description: "A model and its provider." });
export type ModelChoice = z.infer<typeof ModelChoice>;

/** The models one agent kind can use on one host. */
export const ModelListing = z
  .strictObject({
    agentKind: AgentKind,
    providers: z
      .array(
        z.strictObject({
          providerId: z.string().meta({ description: "Use it as `providerId`." }),
          models: z
            .array(
              z.strictObject({
                modelId: z.string().meta({ description: "Use it as `modelId`." }),
                variants: z
                  .array(z.string())
                  .meta({ description: "Variants of the model, such as levels of reasoning." }),
              }),
            )
            .meta({ description: "The provider's models." }),
        }),
      )
      .meta({ description: "The AI providers that it can use." }),
    defaultModel: ModelChoice.nullable().meta({ description: "Used if none is chosen." }),
  })
  .meta({ id: "ModelListing", description: "The models one agent kind can use on one host." });
export type ModelListing = z.infer<typeof ModelListing>;

/** A fallback entry as a caller writes it; without provider or model, the kind's default is used. */
export const FallbackEntryInput = z.strictObject({
  kind: AgentKind,
  providerId: z.string().nullable().meta({ description: "From list_models." }).optional(),
  modelId: z.string().nullable().meta({ description: "From list_models." }).optional(),
});

/** A fallback entry as results show it. */
export const FallbackEntry = z.strictObject({
  kind: AgentKind,
  providerId: z.string().nullable().meta({ description: "Null for the kind's default." }),
  modelId: z.string().nullable().meta({ description: "Null for the kind's default." }),
});
export type FallbackEntry = z.infer<typeof FallbackEntry>;

/** A kind that a new session did not use, and why. */
export const SkippedKind = z.strictObject({
  kind: AgentKind,
  reason: z.string().meta({
    description:
      "A stable word: `quota`, or the code of the kind's problem, such as not_installed.",
  }),
  message: z.string().meta({ description: "The same as a sentence." }),
  utilization: z
    .number()
    .min(0)
    .nullable()
    .meta({ description: "Percent of the quota that were used; null if unknown." }),
});
export type SkippedKind = z.infer<typeof SkippedKind>;

/** Why a session runs with another kind than the preferred one. */
export const Fallback = z.strictObject({
  preferredKind: AgentKind.meta({ description: "The kind that was asked for or preferred." }),
  skipped: z.array(SkippedKind).meta({ description: "The kinds that were skipped, in order." }),
  droppedOptions: z
    .array(z.string())
    .meta({ description: "Options of the caller that the kind does not have." }),
});
export type Fallback = z.infer<typeof Fallback>;
