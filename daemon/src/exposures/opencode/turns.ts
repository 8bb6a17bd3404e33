// Work that a client of opencode wants from a session. The session layer carries it out, as if an action had
// asked for it: so it is in the session's log, waits its turn, is stopped by abort_session, and starts only after
// the checks that every prompt passes. opencode itself never sees the client's request.
import type { SessionMode } from "@hawser/contract";
import { CommandRefusal } from "../../command-refusal.ts";
import type { AgentServer } from "../../drivers/driver.ts";
import { createApi } from "../../drivers/opencode/api.ts";
import { isIdFor } from "../../drivers/opencode/message-id.ts";
import type { Journal } from "../../journal/journal.ts";
import type { Sessions } from "../../sessions/sessions.ts";
import { RequestRefused } from "../answer.ts";
import type { ClientPrompt } from "./prompt-body.ts";
import type { ReachedSession } from "./reach.ts";

export interface Turns {
  /** Queues the prompt. Throws RequestRefused. */
  begin(
    session: ReachedSession,
    prompt: ClientPrompt,
    highestMode: SessionMode | undefined,
  ): Promise<{ turnId: string; messageId: string }>;
  /** Queues a turn that condenses the session's history. Throws RequestRefused. */
  summarize(session: ReachedSession): Promise<{ turnId: string }>;
  /** Stops the running turn, and drops those that wait. */
  abort(session: ReachedSession): Promise<void>;
  /** Resolves when the turn has ended, or rejects at the signal. */
  untilOver(session: ReachedSession, turnId: string, signal: AbortSignal): Promise<void>;
}

export interface TurnsOptions {
  journal: Pick<Journal, "driven" | "atOnce">;
  sessions: Pick<Sessions, "prompt" | "summarize" | "abort">;
  /** Calls back after each change of any session. Returns how to stop it. */
  onChange: (callback: () => void) => () => void;
}

const acceptMs = 28_000;

export function createTurns({ journal, sessions, onChange }: TurnsOptions): Turns {
  const isOver = (sessionId: string, turnId: string) =>
    !journal.driven.prompts(sessionId).some((prompt) => prompt.turnId === turnId);

  return {
    begin: ({ sessionId }, { text, command, model, agent, options, attachments }, highestMode) =>
      asRefused(async () => {
        const accept = await sessions.prompt(
          {
            sessionId,
            text,
            model,
            agent,
            options,
            attachments,
            highestMode,
            ...(command !== undefined && { task: { type: "command", name: command } }),
          },
          AbortSignal.timeout(acceptMs),
        );
        return journal.atOnce(accept);
      }),
    summarize: ({ sessionId }) =>
      asRefused(async () => journal.atOnce(await sessions.summarize(sessionId, undefined))),
    abort: ({ sessionId }) => asRefused(async () => void (await sessions.abort(sessionId))),
    untilOver({ sessionId }, turnId, signal) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const check = () => {
        if (isOver(sessionId, turnId)) resolve();
      };
      const leave = () => reject(signal.reason as Error);
      const stop = onChange(check);
      signal.addEventListener("abort", leave);
      if (signal.aborted) leave();
      check();
      return promise.finally(() => {
        stop();
        signal.removeEventListener("abort", leave);
      });
    },
  };
}

/** Codes of refusals that a client's own request causes. */
const faulty = new Set(["invalid_input", "capability_missing"]);

async function asRefused<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof CommandRefusal)) throw error;
    throw new RequestRefused(faulty.has(error.code) ? 400 : 409, error.code, error.message);
  }
}

interface Message {
  info: { id: string; role: string; parentID?: string };
}

/** opencode's last message about a prompt: the agent's, or else the prompt's own. undefined if it has neither. */
export async function lastMessage(
  server: AgentServer,
  { handle, directory }: ReachedSession,
  messageId: string,
): Promise<object | undefined> {
  const api = createApi(server.port, server.password);
  const path = `/session/${handle}/message?limit=${mostMessages}`;
  const messages = (await api.request("GET", path, { directory })) as Message[];
  return (
    messages.findLast(({ info }) => isIdFor(messageId, info.parentID ?? "")) ??
    messages.findLast(({ info }) => isIdFor(messageId, info.id))
  );
}

/** A turn has a message for each call of the model; the next turn's messages may follow it. */
const mostMessages = 100;
