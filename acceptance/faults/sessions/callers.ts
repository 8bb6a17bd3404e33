// The callers of a run: each asks until there is an answer that counts, at one node after the other,
// and under one idempotency key, so that asking again never does anything twice.
import { setTimeout as sleep } from "node:timers/promises";
import type { AgentKind } from "@hawser/contract";
import type { AgentHost } from "@hawser/testkit/agent-host.ts";
import { ask, type Question } from "../ask.ts";
import type { Answer } from "../command-records.ts";
import type { SessionsBed } from "./bed.ts";
import { acceptedTurn, type SentPrompt } from "./history.ts";

const pauseMs = 150;
/** Longer than a node waits for a host that makes a session. */
const patienceMs = 40_000;
const longestAskingMs = 120_000;
const longestStartMs = 180_000;

/** Refusals that are over when the host and its agent are back. */
const passing = new Set(["host_offline", "agent_not_ready", "host_refused", "in_progress"]);

let asked = 0;

/** Every answer it got; the last is final, unless time was over. */
export async function insist(
  bed: SessionsBed,
  question: Omit<Question, "key" | "idempotencyKey">,
  first = asked,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  const idempotencyKey = `faults-${(asked += 1)}`;
  const deadline = Date.now() + longestAskingMs;
  for (let turn = first; Date.now() < deadline; turn++) {
    const nodes = bed.nodes();
    const baseUrl = nodes[turn % nodes.length]?.baseUrl ?? "http://127.0.0.1:9";
    const answer = await ask(baseUrl, { patienceMs, ...question, key: bed.key, idempotencyKey });
    answers.push(answer);
    if (answer.final) break;
    await sleep(pauseMs);
  }
  return answers;
}

/** Result of an answer; undefined if it was a refusal. */
export function resultOf(answers: readonly Answer[]): any {
  const last = answers.at(-1);
  return last?.status === 200 ? JSON.parse(last.body).result : undefined;
}

/** Asks once more with a new key when the host was away. Throws when it never comes to be. */
export async function startSession(
  bed: SessionsBed,
  { instanceId }: Pick<AgentHost, "instanceId">,
  input: { agentKind: AgentKind; directory: string; title: string; useWorktree?: boolean },
): Promise<string> {
  const deadline = Date.now() + longestStartMs;
  for (;;) {
    const full = { instanceId, ...input };
    const answers = await insist(bed, { action: "start_session", input: full });
    const sessionId = resultOf(answers)?.sessionId as string | undefined;
    if (sessionId) return sessionId;
    const last = answers.at(-1);
    if (!passing.has(last?.code ?? "") || Date.now() > deadline) {
      throw new Error(`No session was started: ${last?.status} ${last?.body.slice(0, 500)}`);
    }
    await sleep(500);
  }
}

/** The name is a part of the text, by which the prompt is found again at the model. */
export async function sendPrompt(
  bed: SessionsBed,
  sessionId: string,
  name: string,
  steps: object[],
): Promise<SentPrompt & { turnId: string | undefined }> {
  const text = `${name} @@${JSON.stringify(steps)}`;
  const answers = await insist(bed, { action: "send_prompt", input: { sessionId, text } });
  return { name, sessionId, answers, turnId: answers.map(acceptedTurn).find(Boolean) };
}

/** The name of the prompt that was sent so. */
export const nameIn = (prompt: string) => /^[a-z]+(?:-\d+)+/.exec(prompt.trim())?.[0];
