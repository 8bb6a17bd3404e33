// Sends an answer to a request of opencode, in opencode's format.
import type { RequestAnswer } from "../driver.ts";
import type { Api } from "./api.ts";

interface Reply {
  key: string;
  directory: string;
  answer: RequestAnswer;
  /** Text for the model if the answer rejects. A rejection without one would end the turn. */
  message: string;
  /** Number of questions in the request. */
  questions: number;
}

export async function sendReply(api: Api, reply: Reply): Promise<void> {
  const { key, directory, answer, message, questions } = reply;
  if ("permission" in answer) {
    const body = answer.permission === "once" ? { reply: "once" } : { reply: "reject", message };
    await api.request("POST", `/permission/${key}/reply`, { directory, body });
    return;
  }
  // Rejecting a question would end the turn, so a dismissed question gets an answer.
  const answers =
    "answers" in answer ? answer.answers : Array.from({ length: questions }, () => ["dismissed"]);
  await api.request("POST", `/question/${key}/reply`, { directory, body: { answers } });
}
