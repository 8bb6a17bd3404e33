// The real Claude Code for tests, with a home of its own and a scripted model.
import { openClaudeHost } from "./claude-host.ts";
import { writeClaudeCommand } from "./claude-home.ts";
import { until } from "./until.ts";
import { listAgentProcesses } from "@hawser/daemon/drivers/agent-processes.ts";
import type { Bench } from "./conformance/bench.ts";

export async function openClaudeBench(): Promise<Bench> {
  const host = await openClaudeHost();
  writeClaudeCommand(host.home, "greet", "Greet them: $ARGUMENTS");
  // Each test case leaves sessions open, and each session has a process: idle ones end soon.
  const open = () => host.openDriver({ idleMs: 20_000 });
  let driver = open();
  const bash = (command: string) => ({ tool: "Bash", input: { command, description: "Do it" } });
  const alive = () => {
    const starts = driver.liveStarts();
    return listAgentProcesses().filter(({ startId }) => starts.includes(startId));
  };
  return {
    driver: () => driver,
    directory: host.makeRepository(),
    makeDirectory: () => host.makeRepository(),
    slashCommand: "greet",
    received: () => JSON.stringify(host.model.requests.at(-1)?.body),
    otherModel: { providerId: "anthropic", modelId: "sonnet" },
    variant: "high",
    asking: bash,
    shown: (command) => ({ detail: command, alwaysRules: [`bash: ${command}`] }),
    question: (question, labels) => ({
      tool: "AskUserQuestion",
      input: {
        questions: [
          {
            question,
            header: "Asked",
            multiSelect: false,
            options: labels.map((label) => ({ label, description: label })),
          },
        ],
      },
    }),
    command: bash,
    plan: (content) => ({
      tool: "TodoWrite",
      input: { todos: [{ content, status: "pending", activeForm: content }] },
    }),
    subAgent: (steps) => ({
      tool: "Task",
      input: {
        description: "Help",
        subagent_type: "general-purpose",
        prompt: `Help me. @@${JSON.stringify(steps)}`,
      },
    }),
    async killAgent() {
      const killed = alive();
      for (const { pid } of killed) process.kill(pid, "SIGKILL");
      await until("they are dead", () => {
        const left = new Set(listAgentProcesses().map(({ pid }) => pid));
        return killed.every(({ pid }) => !left.has(pid));
      });
    },
    async reopen() {
      await driver.close();
      driver = open();
    },
    isAgentAlive: () => alive().length > 0,
    differs: {
      option: "effort",
      modes: ["default", "general-purpose"],
      turnCostUsd: 3 * 0.00445,
    },
    async [Symbol.asyncDispose]() {
      await driver.close();
      await host[Symbol.asyncDispose]();
    },
  };
}
