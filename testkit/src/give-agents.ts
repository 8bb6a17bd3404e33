// Installs the agents' real programs on a host, as its daemon would, and writes the settings of the host's
// owner with which they ask the scripted model.
import { join } from "node:path";
import type { AgentKind } from "@hawser/contract";
import { giveProgram } from "./agent-programs.ts";
import { writeClaudeHome } from "./claude-home.ts";
import { writeCodexHome } from "./codex-home.ts";
import { writeOpencodeHome } from "./opencode-home.ts";

export interface GivenAgents {
  kinds: readonly AgentKind[];
  stateDirectory: string;
  home: string;
  modelUrl: string;
}

const setUp: Record<AgentKind, (home: string, modelUrl: string) => void> = {
  opencode: writeOpencodeHome,
  claude_code: writeClaudeHome,
  codex: (home, modelUrl) => writeCodexHome(join(home, ".codex"), modelUrl),
};

/** Call it while the host's daemon does not run. */
export async function giveAgents(given: GivenAgents): Promise<void> {
  for (const kind of given.kinds) {
    setUp[kind](given.home, given.modelUrl);
    await giveProgram(given.stateDirectory, kind);
  }
}
