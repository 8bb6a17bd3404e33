// What Claude Code reports that it offers to the logged-in user of this host, and the settings of a prompt
// that are chosen from it.
import type { AgentKindRecord } from "@hawser/contract";
import { choose, type Offer, type Wanted } from "../offer.ts";
import type { Initialized, PermissionMode, Query } from "./sdk.ts";

export interface ClaudeOffer extends Offer {
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

export function offerOf({ models, agents, commands, account }: Initialized): ClaudeOffer {
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
    defaultMode: "default",
    options: optionsOf([...new Set(listed.flatMap(({ variants }) => variants))]),
    variantOption: "effort",
    commands: commands.map(({ name }) => name).filter((name) => !withheld.has(name)),
    isLoggedIn: hasLogin(account),
  };
}

function optionsOf(efforts: string[]): AgentKindRecord["options"] {
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

/** All settings of a prompt: those it names, and defaults for the others. Throws NotOffered. */
export function chooseSettings(offer: ClaudeOffer, wanted: Wanted): Choice {
  const { model, mode: named, options } = choose(offer, wanted);
  const mode = permissionModes.find((one) => one === named);
  return {
    model: model.modelId,
    effort: options["effort"] ?? null,
    thinks: options["thinking"] !== "off",
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
