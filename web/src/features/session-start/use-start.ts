// Starting a session and sending its first prompt. A start whose end is not known keeps its key, so that the same press
// never makes two sessions.
import type { Session } from "@hawser/client";
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { call, type Input } from "../../calls/call.ts";
import { isRefused, Refused, Unanswered } from "../../calls/refused.ts";
import { drafts, type Extras } from "../drafts/index.ts";
import { promptsOf } from "../session-turns/index.ts";

export interface Wanted {
  start: Input<"start_session">;
  /** Undefined: the mode in which the session begins. */
  mode: Session["mode"] | undefined;
  text: string;
  extras: Extras;
}

export type StartState =
  | { is: "writing" }
  | { is: "starting" }
  /** `isUnknown`: the host may have started it nevertheless. `session`: it has, and what failed came later. */
  | { is: "failed"; error: unknown; isUnknown: boolean; sessionId: string | undefined };

export interface Start {
  state: StartState;
  begin: (wanted: Wanted) => Promise<void>;
}

export function useStart(userId: string, onStarted: (sessionId: string) => void): Start {
  const [state, setState] = useState<StartState>({ is: "writing" });
  const queries = useQueryClient();
  const pressed = useRef({ input: "", key: "" });
  return {
    state,
    async begin({ start, mode, text, extras }) {
      const input = JSON.stringify(start);
      if (pressed.current.input !== input) pressed.current = { input, key: crypto.randomUUID() };
      const { key } = pressed.current;
      setState({ is: "starting" });
      let session: Session;
      try {
        session = await call("start_session", start, { idempotencyKey: key });
      } catch (error) {
        const isUnknown = error instanceof Unanswered || isRefused(error, "in_progress");
        if (!isUnknown) pressed.current = { input: "", key: "" };
        const sessionId = error instanceof Refused ? error.refusal.sessionId : undefined;
        setState({ is: "failed", error, isUnknown, sessionId });
        return;
      }
      const { sessionId } = session;
      pressed.current = { input: "", key: "" };
      void queries.invalidateQueries({ queryKey: ["search_sessions"] });
      const prompts = promptsOf(userId, sessionId, drafts);
      if (mode !== undefined && mode !== session.mode) {
        try {
          const idempotencyKey = crypto.randomUUID();
          await call("set_session_mode", { sessionId, mode }, { idempotencyKey });
        } catch (error) {
          // The agent would work in another mode than was chosen, so nothing is sent.
          prompts.setDraft(text, extras);
          setState({ is: "failed", error, isUnknown: false, sessionId });
          return;
        }
      }
      prompts.send(text, extras);
      onStarted(sessionId);
    },
  };
}
