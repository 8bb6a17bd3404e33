// The tool calls with which the scripted model makes each kind of agent do the same thing.
import type { AgentKind } from "@hawser/contract";
import type { ModelRequest } from "./scripted-model.ts";
import { ask, bash, type Step } from "./scripted-steps.ts";

export interface KindSteps {
  /** A shell command. Under the default policy the agent has to request permission first. */
  command(command: string): Step;
  question(question: string, labels: string[]): Step;
  /** Writes a plan, which needs no permission. */
  plan(content: string): Step;
  /** Writes a file with the agent's own tool, which needs no permission in the session's directory. */
  write(path: string, content: string): Step;
  option: string;
  /** The value of that option in a request to the model. */
  optionIn(request: ModelRequest): unknown;
}

const options = (labels: string[]) => labels.map((label) => ({ label, description: label }));

export const stepsOf: Record<AgentKind, KindSteps> = {
  opencode: {
    command: bash,
    question: (question, labels) => ask({ question, labels }),
    plan: (content) => ({
      calls: [
        {
          tool: "todowrite",
          input: { todos: [{ content, status: "in_progress", priority: "high" }] },
        },
      ],
    }),
    write: (filePath, content) => ({ calls: [{ tool: "write", input: { filePath, content } }] }),
    option: "variant",
    optionIn: ({ body }) => body["reasoning_effort"],
  },
  claude_code: {
    command: (command) => ({
      calls: [{ tool: "Bash", input: { command, description: "a step of the test" } }],
    }),
    question: (question, labels) => ({
      calls: [
        {
          tool: "AskUserQuestion",
          input: {
            questions: [
              { question, header: "Asked", multiSelect: false, options: options(labels) },
            ],
          },
        },
      ],
    }),
    plan: (content) => ({
      calls: [
        {
          tool: "TodoWrite",
          input: { todos: [{ content, status: "in_progress", activeForm: content }] },
        },
      ],
    }),
    write: (file_path, content) => ({ calls: [{ tool: "Write", input: { file_path, content } }] }),
    option: "effort",
    optionIn: ({ body }) => (body["output_config"] as { effort?: string } | undefined)?.effort,
  },
  codex: {
    command: (cmd) => ({ calls: [{ tool: "exec_command", input: { cmd } }] }),
    question: (question, labels) => ({
      calls: [
        {
          tool: "request_user_input",
          input: {
            questions: [{ id: "asked", header: "Asked", question, options: options(labels) }],
          },
        },
      ],
    }),
    plan: (step) => ({
      calls: [{ tool: "update_plan", input: { plan: [{ step, status: "in_progress" }] } }],
    }),
    write: (path, content) => {
      const lines = content.trimEnd().split("\n");
      const added = lines.map((line) => `+${line}`).join("\n");
      const input = `*** Begin Patch\n*** Add File: ${path}\n${added}\n*** End Patch`;
      return { calls: [{ tool: "apply_patch", input: { input } }] };
    },
    option: "effort",
    optionIn: ({ body }) => (body["reasoning"] as { effort?: string } | undefined)?.effort,
  },
};
