// Checks what a caller chooses (model, mode, options, command, attachments) against what an agent offers.
// Agents accept unknown names silently and fail later, so every choice is checked twice: the session layer
// checks it before it accepts a start or a prompt, and the driver checks it again when it delivers one,
// because the offer may have changed in between. All checks throw NotOffered.
import type { AgentKindRecord, ModelChoice, ModelListing, SessionCommand } from "@hawser/contract";
import { NotOffered, type AgentSession, type Driver } from "./driver.ts";

type Models = Omit<ModelListing, "agentKind">;
type Options = AgentKindRecord["options"];

/** Everything that a prompt to one agent may choose from. */
export interface Offer {
  models: Models;
  modes: string[];
  /** Mode of a prompt that names none. */
  defaultMode: string;
  options: Options;
  /** Id of the option whose values depend on the model: each model lists its own as `variants`. */
  variantOption: string;
}

/** A start or a prompt as the session layer delivers it. A start names no mode. */
export interface Wanted {
  model: ModelChoice | null;
  agent?: string | null;
  options: Record<string, string>;
}

/** Choices of one start or prompt, with the agent's defaults for model and mode filled in. */
export interface Chosen {
  model: ModelChoice;
  mode: string;
  options: Record<string, string>;
}

/** Used by drivers. Throws NotOffered with the field `model`, `agent` or `options`. */
export function choose(offer: Offer, wanted: Wanted): Chosen {
  const model = wanted.model ?? offer.models.defaultModel;
  if (!model) {
    const message = "The agent lists no models on this host. Log in to it there.";
    throw new NotOffered("model", message);
  }
  const { variants } = checkModel(offer.models, model, { provider: "model", model: "model" });
  const mode = wanted.agent ?? offer.defaultMode;
  checkMode(offer.modes, mode);
  const options = offer.options.map((option) =>
    option.id === offer.variantOption ? { ...option, values: variants } : option,
  );
  checkOptions(options, wanted.options, () => "options");
  return { model, mode, options: wanted.options };
}

/** Model of a session that starts: the named one, otherwise the agent's default; null if it has none. */
export async function chooseModel(
  driver: Pick<Driver, "listModels">,
  { providerId, modelId }: { providerId?: string | undefined; modelId?: string | undefined },
  signal: AbortSignal,
): Promise<ModelChoice | null> {
  const models = await driver.listModels(signal);
  if (providerId === undefined && modelId === undefined) return models.defaultModel;
  if (modelId === undefined) {
    throw new NotOffered("modelId", "Name a model too: a provider alone is not enough.");
  }
  if (providerId !== undefined) {
    const model = { providerId, modelId };
    checkModel(models, model, { provider: "providerId", model: "modelId" });
    return model;
  }
  const providers = models.providers.filter((provider) =>
    provider.models.some((model) => model.modelId === modelId),
  );
  if (providers.length === 0) throw unknownModel("modelId", modelId);
  if (providers.length === 1) return { providerId: providers[0]!.providerId, modelId };
  const names = providers.map((provider) => provider.providerId).join(", ");
  throw new NotOffered("providerId", `Several providers have this model: ${names}. Name one.`);
}

/** Checks only what the prompt names. */
export async function checkPromptChoices(
  driver: Pick<Driver, "listModels" | "readState" | "listModes">,
  wanted: {
    model?: ModelChoice | undefined;
    options?: Record<string, string> | undefined;
    agent?: string | undefined;
  },
  signal: AbortSignal,
): Promise<void> {
  const { model, options = {}, agent } = wanted;
  if (model) {
    checkModel(await driver.listModels(signal), model, { provider: "model", model: "model" });
  }
  if (Object.keys(options).length > 0) {
    checkOptions((await driver.readState(signal)).options, options);
  }
  if (agent !== undefined) checkMode(await driver.listModes(signal), agent);
}

/** The slash commands that a session has, each name once. Throws AgentNotReady. */
export async function commandsIn(
  { abilities }: Pick<Driver, "abilities">,
  agent: Pick<AgentSession, "listCommands">,
  directory: string,
  signal: AbortSignal,
): Promise<SessionCommand[]> {
  const common = (await abilities.commands?.list(directory, signal)) ?? [];
  const own = (await agent.listCommands?.(signal)) ?? [];
  const names = new Set(common.map(({ name }) => name));
  return [...common, ...own.filter(({ name }) => !names.has(name))];
}

export async function checkCommand(
  { abilities }: Pick<Driver, "abilities">,
  agent: Pick<AgentSession, "listCommands">,
  name: string,
  directory: string,
  signal: AbortSignal,
): Promise<void> {
  const names = (await commandsIn({ abilities }, agent, directory, signal)).map(
    (each) => each.name,
  );
  if (names.includes(name)) return;
  const listed = names.length > 0 ? `It has ${names.slice(0, 50).join(", ")}.` : "It has none.";
  throw new NotOffered("command", `The agent has no command "${name}". ${listed}`);
}

export function checkAcceptsAttachments({ abilities, kind }: Pick<Driver, "abilities" | "kind">) {
  if (abilities.attachments) return;
  throw new NotOffered("attachments", `${kind} accepts no attachments on this host.`);
}

export function checkOptions(
  offered: Options,
  options: Record<string, string>,
  fieldOf = (id: string) => `options.${id}`,
): void {
  for (const [id, value] of Object.entries(options)) {
    const option = offered.find((each) => each.id === id);
    if (!option) {
      const names = offered.map((each) => each.id).join(", ") || "none";
      throw new NotOffered(fieldOf(id), `The agent has no option "${id}". It has: ${names}.`);
    }
    if (option.values.includes(value)) continue;
    const values = option.values.join(", ") || "none with this model";
    throw new NotOffered(fieldOf(id), `Option "${id}" has no value "${value}". It has: ${values}.`);
  }
}

/** undefined if the provider or its model is not listed. */
export function findModel({ providers }: Pick<Models, "providers">, wanted: ModelChoice) {
  return providers
    .find(({ providerId }) => providerId === wanted.providerId)
    ?.models.find(({ modelId }) => modelId === wanted.modelId);
}

/** `fields` names the caller's fields that hold the provider and the model. */
function checkModel(
  models: Models,
  wanted: ModelChoice,
  fields: { provider: string; model: string },
) {
  const { providerId, modelId } = wanted;
  if (!models.providers.some((provider) => provider.providerId === providerId)) {
    const message = `The agent has no provider "${providerId}" on this host. list_models names them.`;
    throw new NotOffered(fields.provider, message);
  }
  const found = findModel(models, wanted);
  if (!found) throw unknownModel(fields.model, modelId);
  return found;
}

function checkMode(modes: readonly string[], mode: string): void {
  if (modes.includes(mode)) return;
  throw new NotOffered(
    "agent",
    `The agent has no mode "${mode}". It has ${modes.join(", ")}. list_agent_kinds lists them.`,
  );
}

const unknownModel = (field: string, modelId: string) =>
  new NotOffered(
    field,
    `The agent has no model "${modelId}" on this host. list_models names them.`,
  );
