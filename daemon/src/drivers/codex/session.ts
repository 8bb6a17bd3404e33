// A session of ours as a thread of codex: what is wanted of it, in codex's calls.
import { SessionGone, type AgentSession, type Prompt, type SessionSettings } from "../driver.ts";
import { compact, skillInput } from "./commands.ts";
import { CallRefused } from "./connection.ts";
import { chooseSettings, type CodexOffer } from "./offer.ts";
import type { Input, TurnSettings } from "./protocol.ts";
import { sandboxPolicy, threadSettings } from "./settings.ts";
import { callMs, fail, notReady, unless, type Live, type SharedServer } from "./shared-server.ts";
import { revertTo } from "./revert.ts";
import type { Thread } from "./thread.ts";
import { inputOf } from "./turn-request.ts";

const archiveMs = 5_000;

export function openCodexSession(
  shared: SharedServer,
  now: Live,
  threadId: string,
  thread: Thread,
  { directory }: SessionSettings,
): AgentSession {
  const { server, threads } = now;
  /** What holds for its turns, as it was last told; to be told it again costs codex 10 ms. */
  let told: string | undefined;

  /** Codex lets go of a thread that was long idle. */
  const loaded = async () => {
    if (thread.isLoaded()) return;
    told = undefined;
    await loadThread(now, threadId, directory);
  };

  const commandInput = async (prompt: Prompt, name: string): Promise<Input[]> => {
    const text = `$${name} ${prompt.text}`.trimEnd();
    return [...(await inputOf({ ...prompt, text })), await skillInput(server, directory, name)];
  };

  /** The call that begins the turn of a prompt. Throws NotOffered. */
  const callFor = async (prompt: Prompt, offer: CodexOffer) => {
    const { messageId, task, text } = prompt;
    const { model, effort, mode } = chooseSettings(offer, prompt);
    if (task.type === "command" && task.name === compact) {
      if (text !== "") throw new Error(`Codex's ${compact} takes no arguments.`);
      return () => server.call("thread/compact/start", { threadId }, callMs);
    }
    const input =
      task.type === "command" ? await commandInput(prompt, task.name) : await inputOf(prompt);
    const start = { threadId, clientUserMessageId: messageId, input };
    const inMode = { model, reasoning_effort: effort, developer_instructions: null };
    const settings: TurnSettings = {
      model,
      effort,
      sandboxPolicy: sandboxPolicy(directory),
      collaborationMode: { mode, settings: inMode },
    };
    const next = JSON.stringify(settings);
    return async () => {
      const isNew = next !== told;
      // Whether a call that fails has changed them nobody knows.
      told = undefined;
      const begun = await server.call(
        "turn/start",
        isNew ? { ...start, ...settings } : start,
        callMs,
      );
      told = next;
      return begun;
    };
  };

  const begin = async (prompt: Prompt, { offer }: Live, signal: AbortSignal) => {
    const call = await callFor(prompt, offer);
    await loaded();
    signal.throwIfAborted();
    await thread.begin(prompt.messageId, call);
  };

  return {
    handle: threadId,
    prompt: (prompt, signal) => shared.use(signal, (live) => begin(prompt, live, signal)),
    abort: (signal) => unless(signal, thread.abort()),
    answer: (key, answer, signal) => unless(signal, thread.answer(key, answer)),
    async rename(title, signal) {
      const named = { threadId, name: title };
      await unless(signal, server.call("thread/name/set", named, callMs).catch(fail));
    },
    revert: (messageId, signal) =>
      shared.use(signal, async () => {
        await loaded();
        told = undefined;
        return revertTo(server, threadId, thread, messageId).catch(fail);
      }),
    async end(signal) {
      thread.silence();
      if (server.hasEnded()) return;
      await unless(signal, thread.abort());
      // The transcript stays: nothing is destroyed without a way back.
      await server.call("thread/archive", { threadId }, archiveMs).catch(() => {});
      threads.delete(threadId);
      shared.rest();
    },
    release() {
      thread.silence();
      // One that works is heard on, for whoever takes it up again.
      if (thread.isWorking() || threads.get(threadId) !== thread) return;
      threads.delete(threadId);
      shared.rest();
    },
  };
}

/** With its last turn. Throws SessionGone and AgentNotReady. */
export async function loadThread({ server }: Live, threadId: string, directory: string) {
  const asked = threadSettings(directory);
  const initialTurnsPage = { limit: 1, sortDirection: "desc", itemsView: "full" } as const;
  try {
    return await server.call(
      "thread/resume",
      { threadId, ...asked, excludeTurns: true, initialTurnsPage },
      callMs,
    );
  } catch (error) {
    const isGone =
      error instanceof CallRefused && /no rollout found|archived|invalid.*id/i.test(error.message);
    if (isGone) throw new SessionGone(`Codex has no such session: ${error.message}`);
    throw notReady(error);
  }
}
