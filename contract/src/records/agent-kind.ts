// Agent kinds: which there are, what one can do on a host, its models, and fallback chains.
import { z } from "zod";

/** The coding agents the service can run. */
export const AgentKind = z.enum(["opencode", "claude_code", "codex"]);
export type AgentKind = z.infer<typeof AgentKind>;

/** The kinds a user links an account of their own to; opencode uses the host's providers. */
export const LinkableKind = AgentKind.exclude(["opencode"]);
export type LinkableKind = z.infer<typeof LinkableKind>;

/** What an agent kind can do beyond taking prompts. */
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

/** What stands in the way of using an agent kind on a host. */
export const AgentProblem = z.strictObject({
  code: z.string().meta({ description: "A stable word, such as not_installed." }),
  message: z.string(),
});
export type AgentProblem = z.infer<typeof AgentProblem>;

/** A model parameter a caller may set. */
const AgentOption = z.strictObject({
  id: z.string().meta({ description: "The key to use in `options`." }),
  name: z.string(),
  values: z.array(z.string()).meta({ description: "Every value the option takes." }),
  default: z.string().nullable(),
});

/** One agent kind as found on one host, seen by one caller. */
export const AgentKindRecord = z
  .strictObject({
    kind: AgentKind,
    installed: z.boolean(),
    version: z.string().nullable(),
    authenticated: z
      .boolean()
      .meta({ description: "Whether the agent could work for this caller now." }),
    problems: z
      .array(AgentProblem)
      .meta({ description: "What blocks its use; empty when nothing does." }),
    capabilities: z.array(Capability),
    options: z.array(AgentOption),
  })
  .meta({ id: "AgentKind", description: "An agent kind as found on one host." });
export type AgentKindRecord = z.infer<typeof AgentKindRecord>;

/** A model together with the provider that serves it. */
export const ModelChoice = z.strictObject({ providerId: z.string(), modelId: z.string() });
export type ModelChoice = z.infer<typeof ModelChoice>;

/** The models one agent kind can use on one host. */
export const ModelListing = z
  .strictObject({
    agentKind: AgentKind,
    providers: z.array(
      z.strictObject({
        providerId: z.string(),
        models: z.array(
          z.strictObject({
            modelId: z.string(),
            variants: z
              .array(z.string())
              .meta({ description: "Flavours of the model, such as levels of reasoning." }),
          }),
        ),
      }),
    ),
    defaultModel: ModelChoice.nullable(),
  })
  .meta({ id: "ModelListing", description: "The models one agent kind can use on one host." });
export type ModelListing = z.infer<typeof ModelListing>;

/** A fallback entry as a caller writes it; a missing provider or model means the kind's own. */
export const FallbackEntryInput = z.strictObject({
  kind: AgentKind,
  providerId: z.string().nullable().optional(),
  modelId: z.string().nullable().optional(),
});

/** A fallback entry as results show it. */
export const FallbackEntry = z.strictObject({
  kind: AgentKind,
  providerId: z.string().nullable(),
  modelId: z.string().nullable(),
});
export type FallbackEntry = z.infer<typeof FallbackEntry>;
