// Translates a request of Claude Code into ours, and our answer into Claude Code's. The rule for `always`
// names exactly what was requested; Claude Code's own suggestions would cover other commands or the whole
// session.
import type { Asked, RequestAnswer } from "../driver.ts";
import type { PermissionResult } from "./sdk.ts";
import { subjectOf } from "./tool-calls.ts";

interface Question {
  question: string;
  multiSelect?: boolean;
  options?: { label: string; description?: string }[];
}

export function askedOf(tool: string, input: Record<string, unknown>): Asked {
  const questions = questionsIn(tool, input);
  if (questions) {
    return {
      questions: questions.map(({ question, multiSelect = false, options = [] }) => ({
        question,
        options: options.map(({ label, description }) => ({
          label,
          description: description ?? null,
        })),
        multiple: multiSelect,
        freeText: true,
      })),
    };
  }
  if (tool === "ExitPlanMode") {
    const plan = typeof input["plan"] === "string" ? input["plan"] : null;
    return { permission: { title: "Carry out the plan", detail: plan, alwaysRules: [] } };
  }
  const subject = subjectOf({ name: tool, input });
  const detail = subject ?? (Object.keys(input).length > 0 ? JSON.stringify(input) : null);
  const isExact = exact.has(tool) && subject !== null;
  return {
    permission: {
      title: titles[tool] ?? `Use ${tool}`,
      detail,
      alwaysRules: isExact ? [tool === "Bash" ? `bash: ${subject}` : `${tool}: ${subject}`] : [],
    },
  };
}

const titles: Record<string, string> = {
  Bash: "Run a command",
  WebFetch: "Fetch a web page",
  WebSearch: "Search the web",
  Read: "Read a file outside the session's directory",
  Write: "Write a file",
  Edit: "Change a file",
  NotebookEdit: "Change a notebook",
};

/** Tools whose subject fully describes the call, so that it can be a rule. */
const exact = new Set(["Bash", "Read", "Write", "Edit", "NotebookEdit", "WebFetch", "WebSearch"]);

export function resultOf(
  tool: string,
  input: Record<string, unknown>,
  answer: RequestAnswer,
): PermissionResult {
  if ("answers" in answer) {
    const answers: Record<string, string> = {};
    for (const [place, { question }] of (questionsIn(tool, input) ?? []).entries()) {
      const text = (answer.answers[place] ?? []).join(", ");
      // Answers are stored by the question's text, so the answers to identical questions are joined.
      answers[question] = answers[question] === undefined ? text : `${answers[question]}; ${text}`;
    }
    return { behavior: "allow", updatedInput: { ...input, answers } };
  }
  if ("permission" in answer && answer.permission === "once") {
    return { behavior: "allow", updatedInput: input };
  }
  const message =
    "permission" in answer
      ? "The user rejected this. Go on without it, or say what you need it for."
      : "The user dismissed the question. Go on as seems best to you.";
  return { behavior: "deny", message };
}

function questionsIn(tool: string, input: Record<string, unknown>): Question[] | undefined {
  const { questions } = input;
  if (tool !== "AskUserQuestion" || !Array.isArray(questions)) return undefined;
  return questions as Question[];
}
