// A driver whose agent plays the script of each prompt, in this process: for tests of everything above
// the drivers, which need no real agent. It is held to the same suite as the real ones.
import type { AgentKind, PermissionAnswer } from "@hawser/contract";
import {
  AgentNotReady,
  SessionGone,
  capabilitiesOf,
  type Abilities,
  type AgentSession,
  type Driver,
  type RequestAnswer,
} from "../driver.ts";
import { choose } from "../offer.ts";
import { findProjectConfig, sparsePatterns } from "../opencode/project-config.ts";
import type { ScriptedAgent, ScriptedSession } from "./agent.ts";
import { commands, offer } from "./offer.ts";

export interface ScriptedDriver extends Driver {
  /** The agent's process dies; it is there again at once, as one started on demand would be. */
  crash(): void;
}

const abilities: Abilities = {
  diff: true,
  revert: true,
  questions: true,
  subAgents: true,
  shell: true,
  attachments: true,
  summarize: true,
  commands: { list: async () => Object.keys(commands) },
};

export function openScriptedDriver(
  agent: ScriptedAgent,
  kind: AgentKind = "opencode",
): ScriptedDriver {
  const held = new Set<ScriptedSession>();

  const hold = (session: ScriptedSession): AgentSession => {
    held.add(session);
    const release = () => {
      if (held.delete(session)) session.silence();
    };
    return {
      handle: session.handle,
      async prompt(prompt) {
        choose(offer, prompt);
        if (!held.has(session)) throw new AgentNotReady("The session was lost. Resume it.");
        session.prompt(prompt);
      },
      async abort() {
        session.abort();
      },
      async answer(key, answer) {
        return session.answer(key, answer);
      },
      async rename(title) {
        session.title = title;
      },
      async revert(messageId) {
        const place = session.messages.indexOf(messageId);
        if (place === -1) return "unknown";
        session.messages.splice(place);
        return "reverted";
      },
      async end() {
        release();
        session.abort();
        agent.sessions.delete(session.handle);
      },
      release,
    };
  };

  return {
    kind,
    endsWithDaemon: false,
    abilities,
    sparsePatterns,
    async readState() {
      return {
        installed: true,
        version: "1.0.0",
        authenticated: true,
        problems: [],
        capabilities: capabilitiesOf({ abilities }),
        options: offer.options,
      };
    },
    listModels: async () => offer.models,
    listModes: async () => offer.modes,
    findProjectConfig: async (directory) => findProjectConfig(directory),
    async start(place, sink) {
      choose(offer, place);
      const session = agent.create(place.directory, place.title);
      session.listen(0, sink);
      return hold(session);
    },
    async resume(kept, sink) {
      const session = agent.sessions.get(kept.handle);
      if (!session) throw new SessionGone("The scripted agent has no such session.");
      const after = Number(kept.cursor ?? 0);
      const isOver = kept.turnId !== null && !session.isRunning() && !session.endedAfter(after);
      for (const key of kept.openRequests) {
        if (isOver || session.isOpen(key)) continue;
        const answer = permissionIn(session.answerOf(key));
        sink({ type: "request_gone", key, answer, reason: null });
      }
      session.listen(after, sink);
      if (isOver) {
        const reason = "The agent's process ended while the turn was running.";
        sink({ type: "turn_ended", outcome: "interrupted", reason });
      }
      return hold(session);
    },
    async restart() {
      agent.crash("The agent was restarted.");
      held.clear();
    },
    async close() {
      for (const session of held) session.silence();
      held.clear();
    },
    liveStarts: () => [agent.startId],
    crash() {
      agent.crash();
      held.clear();
    },
  };
}

function permissionIn(answer: RequestAnswer | undefined): PermissionAnswer | null {
  return answer && "permission" in answer ? answer.permission : null;
}
