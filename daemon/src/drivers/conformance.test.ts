// The scripted driver, which tests of the session layer use, passes the same suite as the real drivers.
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRepository } from "@hawser/testkit/git-repository.ts";
import { describeConformance } from "@hawser/testkit/conformance.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { createScriptedAgent } from "./scripted/agent.ts";
import { createScriptedDriver } from "./scripted/driver.ts";

describeConformance("the scripted driver", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hawser-scripted-"));
  const agent = createScriptedAgent();
  let driver = createScriptedDriver(agent);
  let made = 0;
  return {
    driver: () => driver,
    directory: createRepository(join(folder, "repository")),
    makeDirectory: () => createRepository(join(folder, `repository-${++made}`)),
    otherModel: { providerId: "scripted", modelId: "script-2" },
    variant: "high",
    asking: (command) => ({
      tool: "permission",
      input: { title: "Run a command", detail: command, rules: [`bash: ${command}`] },
    }),
    shown: (command) => ({ detail: command, alwaysRules: [`bash: ${command}`] }),
    question: (question, labels) => ({
      tool: "question",
      input: { questions: [{ question, options: labels.map((label) => ({ label })) }] },
    }),
    command: (command) => ({ tool: "bash", input: { command } }),
    plan: (content) => ({
      tool: "todowrite",
      input: { todos: [{ content, status: "pending", priority: "high" }] },
    }),
    subAgent: (steps) => ({
      tool: "task",
      input: { description: "Help", prompt: `Help me. @@${JSON.stringify(steps)}` },
    }),
    slashCommand: "greet",
    differs: { hasNoContext: true },
    received() {
      const session = [...agent.sessions.values()].at(-1)!;
      const { attachments, context } = session.given.at(-1)!;
      const files = attachments.flatMap(({ path }) => [
        readFileSync(path, "utf8"),
        readFileSync(path, "base64"),
      ]);
      const before = session.given
        .slice(0, -1)
        .filter(({ messageId }) => session.messages.includes(messageId))
        .map(({ text }) => text);
      return [...before, session.played(), ...context, ...files].join("\n");
    },
    async killAgent() {
      driver.crash();
    },
    async reopen() {
      await driver.close();
      driver = createScriptedDriver(agent);
    },
    isAgentAlive: () => true,
    async [Symbol.asyncDispose]() {
      await driver.close();
      removeDirectory(folder);
    },
  };
});
