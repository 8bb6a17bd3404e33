// The real opencode for tests, with a home of its own and a scripted model.
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agentProgram } from "./agent-programs.ts";
import { createRepository } from "./git-repository.ts";
import { writeOpencodeHome, writeSlashCommand } from "./opencode-home.ts";
import { startScriptedModel, type ScriptedModel } from "./scripted-model.ts";
import { until } from "./until.ts";
import { silentLog } from "@hawser/daemon/log.ts";
import { listAgentProcesses } from "@hawser/daemon/drivers/agent-processes.ts";
import type { Bench } from "./conformance/bench.ts";
import { removeDirectory } from "./remove-directory.ts";
import {
  createOpencodeDriver,
  type OpencodeSettings,
} from "@hawser/daemon/drivers/opencode/driver.ts";
import { recordedStart } from "@hawser/daemon/drivers/opencode/server.ts";

export interface OpencodeBench extends Bench {
  folder: string;
  home: string;
  stateFile: string;
  model: ScriptedModel;
}

export async function openOpencodeBench(
  more: Pick<OpencodeSettings, "limits"> = {},
): Promise<OpencodeBench> {
  const path = await agentProgram("opencode");
  const folder = mkdtempSync(join(tmpdir(), "hawser-opencode-"));
  const home = join(folder, "home");
  mkdirSync(home);
  const model = await startScriptedModel();
  writeOpencodeHome(home, model.url);
  writeSlashCommand(home, "greet", "Greet them: $ARGUMENTS");
  const stateFile = join(folder, "state", "opencode.json");
  const open = () =>
    createOpencodeDriver({
      program: () => ({ path, version: "1.18.33" }),
      stateFile,
      environment: homeEnvironment(home),
      log: silentLog,
      ...more,
    });
  let driver = open();
  let made = 0;
  const serverOf = (startId: string | undefined) =>
    listAgentProcesses().find((each) => each.startId === startId);
  return {
    folder,
    home,
    stateFile,
    model,
    driver: () => driver,
    directory: createRepository(join(folder, "repository")),
    makeDirectory: () => createRepository(join(folder, `repository-${++made}`)),
    slashCommand: "greet",
    received: () => JSON.stringify(model.requests.at(-1)?.body),
    otherModel: { providerId: "stub", modelId: "stub-small" },
    variant: "high",
    asking: (command) => ({ tool: "bash", input: { command, description: "Do it" } }),
    shown: (command) => ({ detail: command, alwaysRules: [`bash: ${command}`] }),
    question: (question, labels) => ({
      tool: "question",
      input: {
        questions: [
          {
            question,
            header: "Asked",
            options: labels.map((label) => ({ label, description: label })),
          },
        ],
      },
    }),
    command: (command) => ({ tool: "bash", input: { command, description: "Say it" } }),
    plan: (content) => ({
      tool: "todowrite",
      input: { todos: [{ content, status: "pending", priority: "high" }] },
    }),
    subAgent: (steps) => ({
      tool: "task",
      input: {
        description: "Help",
        subagent_type: "general",
        prompt: `Help me. @@${JSON.stringify(steps)}`,
      },
    }),
    async killAgent() {
      const [startId] = driver.liveStarts();
      const found = serverOf(startId);
      if (!found) throw new Error("There is no opencode to kill.");
      process.kill(found.pid, "SIGKILL");
      await until("opencode is dead", () => serverOf(startId) === undefined);
    },
    async reopen() {
      await driver.close();
      driver = open();
    },
    isAgentAlive: () => recordedStart({ stateFile, environment: {} }) !== undefined,
    async [Symbol.asyncDispose]() {
      await driver.restart(AbortSignal.timeout(10_000));
      await driver.close();
      await model[Symbol.asyncDispose]();
      removeDirectory(folder);
    },
  };
}

/** The environment that makes opencode keep all its files in one home. */
export function homeEnvironment(home: string): Record<string, string> {
  return {
    HOME: home,
    XDG_CONFIG_HOME: join(home, ".config"),
    XDG_DATA_HOME: join(home, ".local", "share"),
    XDG_STATE_HOME: join(home, ".local", "state"),
    XDG_CACHE_HOME: join(home, ".cache"),
  };
}
