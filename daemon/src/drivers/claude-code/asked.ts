// Translates a request of Claude Code into ours, and our answer into Claude Code's. The rule for `always`
// names exactly what was requested, and there is none if the request shows more than a rule could name.
// Claude Code's own suggestions would cover other commands or the whole session.
import type { Asked, RequestAnswer } from "../driver.ts";
import type { PermissionResult } from "./sdk.ts";
import { shorten, subjectOf } from "./tool-calls.ts";

/** A call that a person decides about. */
export interface Wanted {
  tool: string;
  input: Record<string, unknown>;
  /** Names the directory that a command runs in; empty for the session's own directory. */
  place: string;
  /** Why a person is asked. */
  rule: string;
}

interface Question {
  question: string;
  multiSelect?: boolean;
  options?: { label: string; description?: string }[];
}

export function askedOf({ tool, input, place }: Omit<Wanted, "rule">): Asked {
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
  const named = isExact(tool, input) ? subjectOf({ name: tool, input }) : null;
  const subject = named === null ? null : `${place}${named}`;
  const detail = subject ?? (changing.has(tool) ? changeIn(input) : wholeOf(input));
  const rule = `${tool === "Bash" ? "bash" : tool}: ${subject}`;
  return {
    permission: {
      title: titles[tool] ?? `Use ${tool}`,
      detail,
      alwaysRules: subject === null ? [] : [rule],
    },
  };
}

const titles: Record<string, string> = {
  Agent: "Start a sub-agent",
  Skill: "Use a skill",
  Bash: "Run a command",
  WebFetch: "Fetch a web page",
  WebSearch: "Search the web",
  Read: "Read a file outside the session's directory",
  Write: "Write a file",
  Edit: "Change a file",
  NotebookEdit: "Change a notebook",
};

/** Tools whose subject fully describes the call, so that it can be a rule. */
const exact = new Set(["Bash", "Read", "WebFetch", "WebSearch"]);

const isExact = (tool: string, input: Wanted["input"]) =>
  exact.has(tool) && input["dangerouslyDisableSandbox"] !== true;

const changing = new Set(["Write", "Edit", "NotebookEdit"]);
/** Longest text of a change that a person is shown. */
const longestShown = 8 * 1024;

/** The file that a call changes, and what it changes. */
function changeIn({ file_path, notebook_path, ...change }: Wanted["input"]): string {
  const texts = Object.entries(change).map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return `${name}:\n${shorten(text, longestShown)}`;
  });
  return [file_path ?? notebook_path, ...texts].join("\n\n");
}

/** One value could hide what a tool does, so all are shown. null if there are none. */
const wholeOf = (input: Wanted["input"]) =>
  Object.keys(input).length > 0 ? JSON.stringify(input) : null;

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
