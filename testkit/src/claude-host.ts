// A home with Claude Code set up to ask the scripted model, and repositories to work in.
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agentProgram } from "./agent-programs.ts";
import { writeClaudeHome } from "./claude-home.ts";
import { createRepository } from "./git-repository.ts";
import { removeDirectory } from "./remove-directory.ts";
import { startScriptedModel, type ScriptedModel } from "./scripted-model.ts";
import { silentLog } from "@hawser/daemon/log.ts";
import type { Driver } from "@hawser/daemon/drivers/driver.ts";
import {
  createClaudeDriver,
  type ClaudeSettings,
} from "@hawser/daemon/drivers/claude-code/driver.ts";

export interface ClaudeHost extends AsyncDisposable {
  folder: string;
  home: string;
  program: string;
  model: ScriptedModel;
  makeRepository(): string;
  openDriver(more?: Partial<ClaudeSettings>): Driver;
}

export async function openClaudeHost(): Promise<ClaudeHost> {
  const program = await agentProgram("claude_code");
  const folder = mkdtempSync(join(tmpdir(), "hawser-claude-"));
  const home = join(folder, "home");
  mkdirSync(home);
  const model = await startScriptedModel();
  writeClaudeHome(home, model.url);
  let made = 0;
  return {
    folder,
    home,
    program,
    model,
    makeRepository: () => createRepository(join(folder, `repository-${++made}`)),
    openDriver: (more) =>
      createClaudeDriver({
        program: () => ({ path: program, version: "2.1.197" }),
        environment: { HOME: home },
        temporaryDirectory: join(folder, "tmp"),
        log: silentLog,
        ...more,
      }),
    async [Symbol.asyncDispose]() {
      await model[Symbol.asyncDispose]();
      removeDirectory(folder);
    },
  };
}
