// The real codex for tests, with a home of its own and a scripted model.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agentProgram } from "./agent-programs.ts";
import { writeCodexHome, writeSkill } from "./codex-home.ts";
import { createRepository } from "./git-repository.ts";
import { startScriptedModel, type ScriptedModel } from "./scripted-model.ts";
import { until } from "./until.ts";
import { silentLog } from "@hawser/daemon/log.ts";
import { listAgentProcesses } from "@hawser/daemon/drivers/agent-processes.ts";
import type { Bench } from "./conformance/bench.ts";
import { removeDirectory } from "./remove-directory.ts";
import { createCodexDriver } from "@hawser/daemon/drivers/codex/driver.ts";
import { protectedPaths } from "@hawser/daemon/policy/protected-paths.ts";
import type { CodexSettings } from "@hawser/daemon/drivers/codex/shared-server.ts";

export interface CodexBench extends Bench {
  folder: string;
  home: string;
  model: ScriptedModel;
}

export async function openCodexBench(more: Partial<CodexSettings> = {}): Promise<CodexBench> {
  const path = await agentProgram("codex");
  const folder = mkdtempSync(join(tmpdir(), "hawser-codex-"));
  const home = join(folder, "codex");
  const model = await startScriptedModel();
  writeCodexHome(home, model.url);
  writeSkill(home, "greet", "Greet them: whoever is named behind the skill.");
  const program = () => ({ path, version: "0.166.0" });
  // HOME is replaced too, so that login shells do not run the developer's own profile.
  const environment = { HOME: folder };
  const temporaryDirectory = join(folder, "tmp");
  const closed = protectedPaths(join(folder, "state"), folder);
  const paths = { home, userHome: folder, temporaryDirectory, closed };
  const common = { program, environment, ...paths, log: silentLog };
  const open = () => createCodexDriver({ ...common, ...more });
  let driver = open();
  let made = 0;
  // Commands that codex runs have the same start id, but another working directory.
  const serverOf = (startId: string | undefined) =>
    listAgentProcesses().find((each) => each.startId === startId && each.directory === home);
  const command = (cmd: string) => ({ tool: "exec_command", input: { cmd } });
  return {
    folder,
    home,
    model,
    driver: () => driver,
    directory: createRepository(join(folder, "repository")),
    makeDirectory: () => createRepository(join(folder, `repository-${++made}`)),
    slashCommand: "greet",
    // Leaves out codex's own instructions, which may contain the words that a test looks for.
    received() {
      const { input } = model.requests.at(-1)!.body as { input: { role?: string }[] };
      return JSON.stringify(input.filter(({ role }) => role !== "developer"));
    },
    otherModel: { providerId: "stub", modelId: "gpt-5.6-sol" },
    variant: "high",
    asking: command,
    shown: (shown) => ({ detail: shown, alwaysRules: [shown] }),
    question: (question, labels) => ({
      tool: "request_user_input",
      input: {
        questions: [
          {
            id: "asked",
            header: "Asked",
            question,
            options: labels.map((label) => ({ label, description: label })),
          },
        ],
      },
    }),
    command,
    plan() {
      throw new Error("Codex makes no plans with these models.");
    },
    subAgent: (steps) => ({
      tool: "multi_agent_v1/spawn_agent",
      input: { message: `Help me. @@${JSON.stringify(steps)}` },
    }),
    async killAgent() {
      const [startId] = driver.liveStarts();
      // codex has ended with the daemon.
      if (startId === undefined) return;
      const found = serverOf(startId);
      if (!found) throw new Error("There is no codex to kill.");
      process.kill(found.pid, "SIGKILL");
      await until("codex is dead", () => serverOf(startId) === undefined);
    },
    async reopen() {
      await driver.close();
      driver = open();
    },
    differs: {
      option: "effort",
      modes: ["default", "plan"],
      hasNoPrices: true,
      hasNoPlans: true,
      doesNotWait: true,
      // A skill adds instructions to the prompt; the prompt is not inserted into them.
      greeting: /\$greet Ada.*Greet them: /,
      failing: { tool: "exec_command", input: { cmd: "echo hi", workdir: "none" } },
    },
    isAgentAlive: () => serverOf(driver.liveStarts()[0]) !== undefined,
    async [Symbol.asyncDispose]() {
      await driver.close();
      await model[Symbol.asyncDispose]();
      removeDirectory(folder);
    },
  };
}
