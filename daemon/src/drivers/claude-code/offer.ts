// What the Claude Code on this host offers to whoever is logged in, as it says itself; and the check of
// what a prompt names, because it takes any name and fails later.
import type { AgentKindRecord, ModelChoice, ModelListing } from "@hawser/contract";
import { NotOffered } from "../driver.ts";
import type { Initialized, PermissionMode, Query } from "./sdk.ts";

export interface Offer {
  models: Omit<ModelListing, "agentKind">;
  modes: string[];
  efforts: string[];
  commands: string[];
  isLoggedIn: boolean;
}

const providerId = "anthropic";
/** The others are about what is asked, and that is the host's policy to say. */
const permissionModes: readonly PermissionMode[] = ["default", "plan"];
const thinkingValues = ["on", "off"];
/** It changes the settings of Claude Code's own terminal view. */
const ownUse = new Set(["statusline-setup"]);
/**
 * Slash commands that are not for callers: one leaves the session for a new one, others change the owner's
 * settings, write outside the directory unasked, or tell of the owner's other sessions.
 */
const withheld = new Set(["clear", "config", "heapdump", "insights", "team-onboarding"]);

export function offerOf({ models, agents, commands, account }: Initialized): Offer {
  const listed = models.map(({ value, supportedEffortLevels = [] }) => ({
    modelId: value,
    variants: supportedEffortLevels,
  }));
  const names = agents.map(({ name }) => name).filter((name) => !ownUse.has(name));
  const [first] = listed;
  return {
    models: {
      providers: [{ providerId, models: listed }],
      defaultModel: first ? { providerId, modelId: first.modelId } : null,
    },
    modes: [...permissionModes, ...names],
    efforts: [...new Set(listed.flatMap(({ variants }) => variants))],
    commands: commands.map(({ name }) => name).filter((name) => !withheld.has(name)),
    isLoggedIn: hasLogin(account),
  };
}

/** What a caller may set. */
export function optionsOf({ efforts }: Offer): AgentKindRecord["options"] {
  const effort = { id: "effort", name: "Effort", values: efforts, default: null };
  const thinking = { id: "thinking", name: "Thinking", values: thinkingValues, default: "on" };
  return efforts.length > 0 ? [effort, thinking] : [thinking];
}

function hasLogin({ tokenSource, apiKeySource, apiProvider }: Initialized["account"]): boolean {
  // Other providers have logins of their own, of which nothing is known here.
  if (apiProvider !== undefined && apiProvider !== "firstParty") return true;
  return [tokenSource, apiKeySource].some((source) => source !== undefined && source !== "none");
}

export interface Choice {
  model: string;
  effort: string | null;
  thinks: boolean;
  mode: PermissionMode;
  agent: string | null;
}

/** Everything a prompt must say, from what it names and what holds otherwise. Throws NotOffered. */
export function choose(
  { models, modes }: Offer,
  asked: { model: ModelChoice | null; agent?: string | null; options: Record<string, string> },
): Choice {
  const model = asked.model ?? models.defaultModel;
  if (!model) throw new NotOffered("model", "Claude Code lists no models. Log in on the host.");
  const found = models.providers
    .find((provider) => provider.providerId === model.providerId)
    ?.models.find(({ modelId }) => modelId === model.modelId);
  if (!found) {
    const name = `${model.providerId}/${model.modelId}`;
    throw new NotOffered("model", `Claude Code has no model ${name}. list_models names them.`);
  }
  const { effort, thinking = "on", ...others } = asked.options;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw new NotOffered(
      "options",
      `Claude Code has no option ${unknown}. It has effort and thinking.`,
    );
  }
  if (effort !== undefined && !found.variants.includes(effort)) {
    const offered = found.variants.join(", ") || "none";
    throw new NotOffered(
      "options",
      `${model.modelId} has no effort ${effort}. It has: ${offered}.`,
    );
  }
  if (!thinkingValues.includes(thinking)) {
    throw new NotOffered("options", `Thinking is on or off, not ${thinking}.`);
  }
  const named = asked.agent ?? "default";
  if (!modes.includes(named)) {
    throw new NotOffered("agent", `Claude Code has no mode ${named}. It has ${modes.join(", ")}.`);
  }
  const mode = permissionModes.find((one) => one === named);
  return {
    model: found.modelId,
    effort: effort ?? null,
    thinks: thinking === "on",
    mode: mode ?? "default",
    agent: mode ? null : named,
  };
}

/** Makes the next prompt run as chosen. A process that is new must be told everything. */
export async function apply(
  query: Query,
  before: Choice | undefined,
  choice: Choice,
): Promise<void> {
  const { model, mode, effort, thinks, agent } = choice;
  if (before?.model !== model) await query.setModel(model);
  if ((before?.thinks ?? true) !== thinks) await query.setMaxThinkingTokens(thinks ? null : 0);
  if (before?.mode !== mode) await query.setPermissionMode(mode);
  if (before?.effort !== effort || before.agent !== agent) {
    await query.applyFlagSettings({ effortLevel: effort, agent });
  }
}
