// Answers to what opencode asked, in its words.
import type { RequestAnswer } from "../driver.ts";
import type { Api } from "./api.ts";

interface Reply {
  key: string;
  directory: string;
  answer: RequestAnswer;
  /** What the model is told with a rejection; without it the turn would end. */
  message: string;
  /** How many questions were asked. */
  questions: number;
}

export async function sendReply(api: Api, reply: Reply): Promise<void> {
  const { key, directory, answer, message, questions } = reply;
  if ("permission" in answer) {
    const body = answer.permission === "once" ? { reply: "once" } : { reply: "reject", message };
    await api.request("POST", `/permission/${key}/reply`, { directory, body });
    return;
  }
  // A rejected question would end the turn; a dismissed one lets it go on.
  const answers =
    "answers" in answer ? answer.answers : Array.from({ length: questions }, () => ["dismissed"]);
  await api.request("POST", `/question/${key}/reply`, { directory, body: { answers } });
}
