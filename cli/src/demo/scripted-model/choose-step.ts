// Chooses the scripted model's answer. The conversation shows how many steps were played, so the only state
// between requests is how often a step has failed.
import { readScript, type Step } from "@hawser/daemon/drivers/scripted/script.ts";
import type { Conversation, Message } from "./dialect.ts";

export interface Choice {
  step: Step;
  /** The step's index in the script; 0 for an answer without a script. */
  index: number;
  /** How many answers to the prompt precede this one. */
  answered: number;
  /** The user's text; empty for a conversation without a prompt. */
  prompt: string;
  /** title: a request outside the conversation, which offers no tools. */
  kind: "scripted" | "plain" | "title";
}

/** Texts that agents send as user messages although no user wrote them. */
const notes =
  /^\s*<(system-reminder|skill>|environment_context|user_instructions|turn_aborted|command-|local-command)/;

/** What a fork's agent reads of the earlier conversation, whose prompts have scripts of their own. */
const earlier = /<earlier-conversation>[^]*<\/earlier-conversation>/g;

/** How often the steps of each script have failed; `times` counts per text of the script. */
export type Failures = Map<string, number>;

/** Chooses the answer to a conversation. Throws if the prompt's script cannot be read. */
export function chooseStep(conversation: Conversation, failures: Failures): Choice {
  const { messages, tools } = conversation;
  const at = messages.findLastIndex(isPrompt);
  const prompt = at === -1 ? "" : textOf(messages[at]!);
  if (tools.length === 0)
    return { step: besides(messages), index: 0, answered: 0, prompt, kind: "title" };
  const script = at === -1 ? undefined : scriptOf(messages[at]!);
  if (!script)
    return { step: { text: reply(prompt) }, index: 0, answered: 0, prompt, kind: "plain" };
  const answered =
    conversation.answersAfter?.(at) ??
    messages.slice(at + 1).filter(({ role }) => role === "assistant").length;
  const name = JSON.stringify(script);
  const left = script.flatMap((step, index): { step: Step; index: number }[] => {
    if (!step.status && !step.cut) return [{ step, index }];
    if ((failures.get(`${index} ${name}`) ?? 0) < (step.times ?? Infinity)) {
      return [{ step, index }];
    }
    // The step has failed as often as it should. The rest of the step is its answer, if there is one.
    const { status: _, cut: __, ...answer } = step;
    return answer.text || answer.calls ? [{ step: answer, index }] : [];
  });
  const { step, index } = left[answered] ?? { step: { text: "Done." }, index: script.length };
  if (step.status || step.cut) {
    const key = `${index} ${name}`;
    failures.set(key, (failures.get(key) ?? 0) + 1);
  }
  return { step, index, answered, prompt, kind: "scripted" };
}

function isPrompt(message: Message): boolean {
  if (message.role !== "user") return false;
  return message.texts.some((text) => text.includes("@@[") || (text.trim() && !notes.test(text)));
}

/**
 * Searches each piece of text separately, so that text that an agent adds after the prompt is not part of
 * the script. An agent may put an unanswered prompt into the same message, before the next one.
 */
function scriptOf({ texts }: Message): Step[] | undefined {
  const own = texts.map((text) => text.replaceAll(earlier, ""));
  return own.map(readScript).findLast((script) => script !== undefined);
}

function textOf({ texts }: Message): string {
  return texts
    .filter((text) => text.includes("@@[") || !notes.test(text))
    .map((text) => text.replaceAll(earlier, ""))
    .join("\n");
}

/** The first words of a prompt, without its script. */
function firstWords(prompt: string, count: number): string {
  const words = prompt.split("@@[")[0]!.trim().split(/\s+/);
  return words.slice(0, count).join(" ") + (words.length > count ? " …" : "");
}

function reply(prompt: string): string {
  if (/\bSummarize the conversation above\b/.test(prompt)) return "This is the scripted summary.";
  const words = firstWords(prompt, 12);
  if (!words) return "Hello. What should I do?";
  return (
    `You asked: "${words}". I am a scripted model, so I have changed nothing. ` +
    "A prompt that ends with a script tells me which tools to use and what to say."
  );
}

/** Answers with a title, or with a summary if one is requested. */
function besides(messages: Message[]): Step {
  const users = messages.filter(isPrompt).map(textOf);
  const asked = [
    ...messages.filter(({ role }) => role === "system").map(textOf),
    ...users.slice(-1),
  ];
  if (asked.some((text) => !/\btitle\b/i.test(text) && /\bsummar/i.test(text))) {
    return { text: `The conversation so far was about: ${firstWords(users[0] ?? "", 12)}` };
  }
  const subject = users.findLast((text) => !/\btitle\b/i.test(text)) ?? "";
  return { text: firstWords(subject, 6) || "New session" };
}
