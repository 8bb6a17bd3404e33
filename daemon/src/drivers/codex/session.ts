// One session: translates the calls of AgentSession into calls of codex for one thread.
import { abortable } from "../abortable.ts";
import { AgentNotReady, SessionGone, type AgentSession, type Prompt } from "../driver.ts";
import { placeAttachments } from "./attachments.ts";
import { compact, skillInput } from "./commands.ts";
import { CallRefused } from "./connection.ts";
import { chooseSettings, type Choice } from "./offer.ts";
import type { Input, LoadedThread, TurnSettings } from "./protocol.ts";
import { clearPlace, profileName, type Place } from "./sandbox.ts";
import { threadSettings } from "./settings.ts";
import { callMs, fail, notReady, type LiveServer, type SharedServer } from "./shared-server.ts";
import { revertTo } from "./revert.ts";
import type { Thread } from "./thread.ts";
import { inputOf } from "./turn-request.ts";

const archiveMs = 5_000;

export function openCodexSession(
  shared: SharedServer,
  live: LiveServer,
  threadId: string,
  thread: Thread,
  makePlace: () => Place,
): AgentSession {
  const { server, threads } = live;
  const { directory } = makePlace();
  /** Turn settings that codex has. Sent only when they change, because that costs 10 ms. */
  let currentSettings: string | undefined;

  /** Loads the thread again if codex has closed it, which it does after a long idle time. */
  const ensureLoaded = async () => {
    if (thread.isLoaded()) return;
    currentSettings = undefined;
    await loadThread(live, threadId, makePlace());
  };

  const commandInput = async (prompt: Prompt, name: string): Promise<Input[]> => {
    const text = `$${name} ${prompt.text}`.trimEnd();
    return [...(await inputOf({ ...prompt, text })), await skillInput(server, directory, name)];
  };

  /** Returns the call that starts the turn of a prompt. */
  const callFor = async (prompt: Prompt, { model, effort, mode }: Choice) => {
    const { messageId, task, text } = prompt;
    if (task.type === "command" && task.name === compact) {
      if (text !== "") throw new Error(`Codex's command ${compact} accepts no arguments.`);
      return () => server.call("thread/compact/start", { threadId }, callMs);
    }
    const input =
      task.type === "command" ? await commandInput(prompt, task.name) : await inputOf(prompt);
    const start = { threadId, clientUserMessageId: messageId, input };
    const inMode = { model, reasoning_effort: effort, developer_instructions: null };
    const settings: TurnSettings = {
      model,
      effort,
      collaborationMode: { mode, settings: inMode },
    };
    const next = JSON.stringify(settings);
    return async () => {
      const isChanged = next !== currentSettings;
      // A call that fails may or may not have changed the settings.
      currentSettings = undefined;
      const begun = await server.call(
        "turn/start",
        isChanged ? { ...start, ...settings } : start,
        callMs,
      );
      currentSettings = next;
      return begun;
    };
  };

  const begin = async (prompt: Prompt, { offer }: LiveServer, signal: AbortSignal) => {
    const choice = chooseSettings(offer, prompt);
    const place = makePlace();
    const files = await placeAttachments(place.attachments, prompt.attachments);
    const call = await callFor({ ...prompt, attachments: files }, choice);
    await ensureLoaded();
    signal.throwIfAborted();
    const attachments = files.map(({ path }) => path);
    const isPlanning = choice.mode === "plan";
    await thread.begin({ messageId: prompt.messageId, isPlanning, attachments }, call);
  };

  return {
    handle: threadId,
    prompt: (prompt, signal) => shared.use(signal, (current) => begin(prompt, current, signal)),
    abort: (signal) => abortable(signal, thread.abort()),
    answer: (key, answer, signal) => abortable(signal, thread.answer(key, answer)),
    async rename(title, signal) {
      const named = { threadId, name: title };
      await abortable(signal, server.call("thread/name/set", named, callMs).catch(fail));
    },
    revert: (messageId, signal) =>
      shared.use(signal, async () => {
        await ensureLoaded();
        currentSettings = undefined;
        return revertTo(server, threadId, thread, messageId).catch(fail);
      }),
    async end(signal) {
      thread.stopReporting();
      if (server.hasEnded()) return clearPlace(directory);
      await abortable(signal, thread.abort());
      // Archives the thread, so that its transcript is kept.
      await server.call("thread/archive", { threadId }, archiveMs).catch(() => {});
      threads.delete(threadId);
      clearPlace(directory);
      shared.endWhenIdle();
    },
    release() {
      thread.stopReporting();
      // A working thread stays open, so that a later resume gets its events.
      if (thread.isWorking() || threads.get(threadId) !== thread) return;
      threads.delete(threadId);
      shared.endWhenIdle();
    },
  };
}

/** Loads a thread and returns its last turn. Throws SessionGone or AgentNotReady. */
export async function loadThread(live: LiveServer, threadId: string, place: Place) {
  const asked = threadSettings(place, live.profileOf(place));
  const initialTurnsPage = { limit: 1, sortDirection: "desc", itemsView: "full" } as const;
  try {
    const loaded = await live.server.call(
      "thread/resume",
      { threadId, ...asked, excludeTurns: true, initialTurnsPage },
      callMs,
    );
    checkProfile(loaded);
    return loaded;
  } catch (error) {
    const isGone =
      error instanceof CallRefused && /no rollout found|archived|invalid.*id/i.test(error.message);
    if (isGone) throw new SessionGone(`Codex no longer has this session: ${error.message}`);
    const isOther =
      error instanceof CallRefused &&
      /your current provider is|no longer conf/i.test(error.message);
    if (isOther) throw new AgentNotReady(otherProvider, { cause: error });
    throw notReady(error);
  }
}

/** Codex never continues a thread at another provider, such as a gateway instead of its maker. */
const otherProvider =
  "This session began with an account at another provider, and codex cannot change that. Continue the conversation with fork_session.";

/** Codex falls back to other settings if its administrator's configuration forbids a profile. */
export function checkProfile({ activePermissionProfile: active }: LoadedThread): void {
  if (active?.id === profileName) return;
  throw new AgentNotReady(
    `Codex does not use the sandbox that the daemon asked for (it uses ${active?.id ?? "other settings"}), so the session is not started. Allow permission profiles in codex's managed configuration on this host.`,
  );
}
