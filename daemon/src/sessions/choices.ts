// Models, options and modes that a caller names. Agents take nonsense in silence, so what an agent does
// not list is refused here, with the field that names it.
import type { AgentKindRecord, ModelChoice, ModelListing } from "@hawser/contract";
import { CommandRefusal } from "../command-refusal.ts";
import type { Driver } from "../drivers/driver.ts";

interface WantedModel {
  providerId?: string | undefined;
  modelId?: string | undefined;
}

/** The model of a session that begins: what was named, else the agent's own. */
export async function chooseModel(
  driver: Driver,
  { providerId, modelId }: WantedModel,
  signal: AbortSignal,
): Promise<ModelChoice | null> {
  const listing = await driver.listModels(signal);
  if (providerId === undefined && modelId === undefined) return listing.defaultModel;
  if (modelId === undefined) {
    throw invalid("modelId", "A provider alone is not enough: name a model of it.");
  }
  const having = listing.providers.filter(({ models }) =>
    models.some((model) => model.modelId === modelId),
  );
  if (providerId === undefined) {
    if (having.length === 1) return { providerId: having[0]!.providerId, modelId };
    if (having.length === 0) throw unknownModel("modelId", modelId);
    const names = having.map((provider) => provider.providerId).join(", ");
    throw invalid("providerId", `Several providers have this model: ${names}. Name one.`);
  }
  checkModel(listing, { providerId, modelId }, "providerId", "modelId");
  return { providerId, modelId };
}

interface PromptChoices {
  model?: ModelChoice | undefined;
  options?: Record<string, string> | undefined;
  agent?: string | undefined;
}

/** Throws a refusal for what a prompt names and the agent does not have. */
export async function chooseForPrompt(
  driver: Driver,
  { model, options, agent }: PromptChoices,
  { directory }: { directory: string },
  signal: AbortSignal,
): Promise<void> {
  if (model) checkModel(await driver.listModels(signal), model, "model", "model");
  if (options && Object.keys(options).length > 0) {
    checkOptions((await driver.readState(signal)).options, options);
  }
  if (agent === undefined) return;
  const modes = await driver.listModes(directory, signal);
  if (modes.includes(agent)) return;
  throw invalid("agent", `The agent has no mode "${agent}". It has ${modes.join(", ")}.`);
}

/** Throws a refusal for a slash command that the agent does not have. */
export async function checkCommand(
  { abilities }: Driver,
  name: string,
  { directory }: { directory: string },
  signal: AbortSignal,
): Promise<void> {
  const names = (await abilities.commands?.list(directory, signal)) ?? [];
  if (names.includes(name)) return;
  const listed = names.length > 0 ? `It has ${names.slice(0, 50).join(", ")}.` : "It has none.";
  throw invalid("command", `The agent has no command "${name}". ${listed}`);
}

/** Throws a refusal where files would be left out in silence. */
export function checkTakesAttachments({ abilities, kind }: Driver): void {
  if (abilities.attachments) return;
  throw invalid("attachments", `${kind} takes no attachments on this host.`);
}

export function checkOptions(
  known: AgentKindRecord["options"],
  options: Record<string, string>,
): void {
  for (const [id, value] of Object.entries(options)) {
    const option = known.find((each) => each.id === id);
    if (!option) throw invalid(`options.${id}`, `The agent has no option "${id}".`);
    if (option.values.includes(value)) continue;
    throw invalid(`options.${id}`, `"${value}" is none of ${option.values.join(", ")}.`);
  }
}

function checkModel(
  { providers }: Pick<ModelListing, "providers">,
  { providerId, modelId }: ModelChoice,
  providerField: string,
  modelField: string,
): void {
  const provider = providers.find((each) => each.providerId === providerId);
  if (!provider) {
    throw invalid(providerField, `The agent has no provider "${providerId}" on this host.`);
  }
  if (!provider.models.some((model) => model.modelId === modelId)) {
    throw unknownModel(modelField, modelId);
  }
}

const unknownModel = (field: string, modelId: string) =>
  invalid(field, `The agent has no model "${modelId}" on this host. list_models names them.`);

const invalid = (field: string, message: string) =>
  new CommandRefusal("invalid_input", message, field);
