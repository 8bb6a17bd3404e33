// Plays the steps of a script as one turn of an agent: messages, thoughts, tool calls and requests.
import { randomUUID } from "node:crypto";
import { pause } from "../../pause.ts";
import type { AgentEvent, Asked, RequestAnswer, TurnEnd } from "../driver.ts";
import { priceOf } from "./offer.ts";
import { readScript, type Call, type Step } from "./script.ts";
import { kindOf, runTool, type ToolResult } from "./tools.ts";

/** What a turn needs from its session. */
export interface Stage {
  directory: string;
  report: (event: AgentEvent) => void;
  /** Resolves with the answer; never resolves if the turn is aborted first. */
  ask(asked: Asked, toolCallId: string): Promise<RequestAnswer>;
  /** Aborted when the turn is aborted or the agent dies. */
  signal: AbortSignal;
}

const unscripted: Step[] = [{ text: "Nothing to play: the prompt has no script." }];

export async function playTurn(prompt: string, stage: Stage): Promise<TurnEnd> {
  return playSteps(readScript(prompt) ?? unscripted, stage, null);
}

async function playSteps(
  steps: Step[],
  stage: Stage,
  parentToolCallId: string | null,
): Promise<TurnEnd> {
  for (const step of steps) {
    const failed = await playFailures(step, stage.signal);
    if (stage.signal.aborted) return { outcome: "aborted", reason: null };
    if (failed) {
      const isUsedUp = step.errorType === "insufficient_quota";
      return { outcome: "failed", reason: failed, ...(isUsedUp && { cause: "quota" as const }) };
    }
    // A step without an answer ends when it has failed as often as it should.
    if (step.status !== undefined && !step.text && !step.calls) continue;
    await playStep(step, stage, parentToolCallId);
    if (stage.signal.aborted) return { outcome: "aborted", reason: null };
    if (step.cut) return { outcome: "failed", reason: "The connection to the model was cut." };
    if (!step.calls?.length) break;
  }
  return { outcome: "completed", reason: null };
}

/** Why the turn fails; undefined if the model answers after the scripted failures. */
async function playFailures(step: Step, signal: AbortSignal): Promise<string | undefined> {
  const { status, times = Infinity, retryAfterSeconds = 0 } = step;
  if (status === undefined) return undefined;
  const isTemporary = (status === 429 && step.errorType === undefined) || status >= 500;
  if (!isTemporary) return `The model answered with status ${status}.`;
  for (let tries = 0; tries < times && !signal.aborted; tries++) {
    await pause(Math.max(10, retryAfterSeconds * 1000), signal);
  }
  return undefined;
}

async function playStep(step: Step, stage: Stage, parent: string | null): Promise<void> {
  const { signal, report } = stage;
  if (step.delayMs) await pause(step.delayMs, signal);
  if (step.reasoning) await write("thought", step.reasoning, step, stage, parent);
  if (step.text) await write("message", step.text, step, stage, parent);
  for (const call of step.calls ?? []) {
    if (signal.aborted) return;
    await playCall(call, stage, parent);
  }
  if (signal.aborted) return;
  const { input = 1000, output = 50, cached = 0 } = step.usage ?? {};
  const usage = {
    inputTokens: Math.max(0, input - cached),
    outputTokens: output,
    cacheReadTokens: cached,
    cacheWriteTokens: 0,
  };
  report({ type: "usage", usage, costUsd: priceOf(usage), costIsEstimate: false });
}

async function write(
  kind: "message" | "thought",
  whole: string,
  { paceMs = 0 }: Step,
  { report, signal }: Stage,
  parentToolCallId: string | null,
): Promise<void> {
  const messageId = randomUUID();
  let offset = 0;
  for (const word of whole.split(/(?<= )/)) {
    if (signal.aborted) break;
    report({ type: "text", itemId: messageId, kind, offset, text: word });
    offset += word.length;
    if (paceMs > 0) await pause(paceMs, signal);
  }
  if (offset === 0) return;
  const content = { type: "text" as const, text: whole.slice(0, offset) };
  const sessionUpdate = kind === "message" ? "agent_message_chunk" : "agent_thought_chunk";
  report({ type: "update", update: { sessionUpdate, messageId, content, parentToolCallId } });
}

async function playCall(call: Call, stage: Stage, parentToolCallId: string | null): Promise<void> {
  const toolCallId = randomUUID();
  const { tool, input } = call;
  const title = typeof input["title"] === "string" ? input["title"] : tool;
  stage.report({
    type: "update",
    update: {
      sessionUpdate: "tool_call",
      toolCallId,
      title,
      kind: kindOf(tool),
      status: "in_progress",
      rawInput: input,
      parentToolCallId,
    },
  });
  const { output, failed } = await runCall(call, toolCallId, stage);
  stage.report({
    type: "update",
    update: {
      sessionUpdate: "tool_call_update",
      toolCallId,
      status: failed || stage.signal.aborted ? "failed" : "completed",
      content: [{ type: "content", content: { type: "text", text: output } }],
    },
  });
}

async function runCall(call: Call, toolCallId: string, stage: Stage): Promise<ToolResult> {
  const { tool, input } = call;
  if (tool === "permission" || tool === "question") {
    const asked = tool === "permission" ? permissionOf(input) : questionsOf(input);
    return Promise.race([askAs(asked, toolCallId, stage), aborted(stage.signal)]);
  }
  if (tool === "todowrite") {
    const entries = input["todos"] as Extract<
      Extract<AgentEvent, { type: "update" }>["update"],
      { sessionUpdate: "plan" }
    >["entries"];
    stage.report({ type: "update", update: { sessionUpdate: "plan", entries } });
    return { output: "Noted.", failed: false };
  }
  if (tool === "task") {
    const steps = readScript(String(input["prompt"])) ?? unscripted;
    const { outcome } = await playSteps(steps, stage, toolCallId);
    return { output: outcome, failed: outcome !== "completed" };
  }
  return runTool(call, stage.directory, stage.signal);
}

async function askAs(asked: Asked, toolCallId: string, stage: Stage): Promise<ToolResult> {
  const answer = await stage.ask(asked, toolCallId);
  if ("permission" in answer) {
    const rejected = answer.permission === "reject";
    return { output: rejected ? "The user rejected this." : "Allowed.", failed: rejected };
  }
  if ("dismiss" in answer) return { output: "The user dismissed the question.", failed: false };
  return { output: JSON.stringify(answer.answers), failed: false };
}

function aborted(signal: AbortSignal): Promise<ToolResult> {
  return new Promise((resolve) => {
    const end = () => resolve({ output: "Aborted.", failed: true });
    if (signal.aborted) return end();
    signal.addEventListener("abort", end, { once: true });
  });
}

function permissionOf(input: Record<string, unknown>): Asked {
  const { title = "A tool", detail = null, rules = [] } = input;
  return {
    permission: {
      title: String(title),
      detail: typeof detail === "string" ? detail : null,
      alwaysRules: rules as string[],
    },
  };
}

function questionsOf(input: Record<string, unknown>): Asked {
  const questions = input["questions"] as {
    question: string;
    options?: { label: string; description?: string }[];
    multiple?: boolean;
    freeText?: boolean;
  }[];
  return {
    questions: questions.map(({ question, options = [], multiple = false, freeText = true }) => ({
      question,
      options: options.map(({ label, description }) => ({
        label,
        description: description ?? null,
      })),
      multiple,
      freeText,
    })),
  };
}
