// A driver whose agent plays the script in each prompt, within this process. For tests of the layers above
// the drivers, which need no real agent. It passes the same conformance suite as the real drivers.
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
  /** The agent's process dies. It is available again at once, like a process that is started on demand. */
  crash(): void;
}

const abilities: Abilities = {
  diff: true,
  fork: true,
  revert: true,
  questions: true,
  subAgents: true,
  shell: true,
  attachments: true,
  summarize: true,
  commands: {
    list: async () =>
      Object.keys(commands).map((name) => ({ name, description: null, takesArguments: true })),
  },
};

export function createScriptedDriver(
  agent: ScriptedAgent,
  kind: AgentKind = "opencode",
): ScriptedDriver {
  const held = new Set<ScriptedSession>();

  const hold = (session: ScriptedSession): AgentSession => {
    held.add(session);
    const release = () => {
      if (held.delete(session)) session.stopReporting();
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
        const index = session.messages.indexOf(messageId);
        if (index === -1) return "unknown";
        session.messages.splice(index);
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
    hasSandbox: false,
    abilities,
    trustable: {
      skills: { ".scripted/skills": "skills" },
      mcp_servers: { ".scripted/servers.json": "servers.json" },
    },
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
    async start(settings, sink) {
      choose(offer, settings);
      const session = agent.create(settings.directory, settings.title);
      session.reportTo(sink, 0);
      return hold(session);
    },
    async resume(resumable, sink) {
      const session = agent.sessions.get(resumable.handle);
      if (!session) throw new SessionGone("The scripted agent no longer has this session.");
      const after = Number(resumable.cursor ?? 0);
      const isOver =
        resumable.turnId !== null && !session.isRunning() && !session.endedAfter(after);
      for (const key of resumable.openRequests) {
        if (isOver || session.isOpen(key)) continue;
        const answer = permissionIn(session.answerOf(key));
        sink({ type: "request_gone", key, answer, reason: null });
      }
      session.reportTo(sink, after);
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
      for (const session of held) session.stopReporting();
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
