// What Claude Code reports that it offers to the logged-in user of this host, and the settings of a prompt
// that are chosen from it.
import type { AgentKindRecord, SessionCommand } from "@hawser/contract";
import { choose, type Offer, type Wanted } from "../offer.ts";
import type { Initialized, PermissionMode, Query } from "./sdk.ts";

type Listed = Initialized["commands"][number];

export interface ClaudeOffer extends Offer {
  commands: SessionCommand[];
  isLoggedIn: boolean;
}

const providerId = "anthropic";
/** The other modes of Claude Code change what needs permission; the host's policy decides that. */
const permissionModes: readonly PermissionMode[] = ["default", "plan"];
const thinkingValues = ["on", "off"];
/** Sub-agents for Claude Code's own terminal view. */
const internalAgents = new Set(["statusline-setup"]);
/**
 * Slash commands that callers may not use. They start another session, change the host user's settings,
 * write outside the directory without asking, or show the user's other sessions.
 */
const withheldCommands = new Set(["clear", "config", "heapdump", "insights", "team-onboarding"]);
/** Claude Code's own slash commands that run git as soon as they are used, without the hook. */
const gitCommands = new Set(["commit", "commit-push-pr", "security-review"]);
/** Slash commands with this prefix are requests to a server of the Model Context Protocol. */
const serverPrefix = "mcp__";

export function offerOf({ models, agents, commands, account }: Initialized): ClaudeOffer {
  const listed = models.map(({ value, supportedEffortLevels = [] }) => ({
    modelId: value,
    variants: supportedEffortLevels,
  }));
  const names = agents.map(({ name }) => name).filter((name) => !internalAgents.has(name));
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
    commands: commands.filter(({ name }) => isOffered(name)).map(commandOf),
    isLoggedIn: hasLogin(account),
  };
}

const commandOf = ({ name, description, argumentHint }: Listed): SessionCommand => ({
  name,
  description: description || null,
  takesArguments: Boolean(argumentHint),
});

const isOffered = (command: string) =>
  !withheldCommands.has(command) && !gitCommands.has(command) && !command.startsWith(serverPrefix);

function optionsOf(efforts: string[]): AgentKindRecord["options"] {
  const effort = { id: "effort", name: "Effort", values: efforts, default: null };
  const thinking = { id: "thinking", name: "Thinking", values: thinkingValues, default: "on" };
  return efforts.length > 0 ? [effort, thinking] : [thinking];
}

function hasLogin(account: Initialized["account"]): boolean {
  const { tokenSource, apiKeySource, apiProvider, subscriptionType, email } = account;
  // Other providers have their own logins, which Claude Code does not report.
  if (apiProvider !== undefined && apiProvider !== "firstParty") return true;
  // The login of a subscription has no source.
  if (subscriptionType || email) return true;
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

/** Sets what changed since the previous prompt; all settings if `before` is undefined (a new process). */
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
