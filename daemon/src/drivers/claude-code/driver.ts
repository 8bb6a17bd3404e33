// The driver for Claude Code: a process for each session that is in use (session.ts), driven through the
// Agent SDK that is installed beside the program (sdk.ts).
import { randomUUID } from "node:crypto";
import { childEnvironment, type Environment } from "../../environment.ts";
import { stampOf } from "../../find-program.ts";
import { describe, type Log } from "../../log.ts";
import {
  capabilitiesOf,
  type Abilities,
  AgentNotReady,
  SessionGone,
  type AgentState,
  type Driver,
  type SessionSettings,
  type Sink,
} from "../driver.ts";
import { chooseSettings, offerOf, type ClaudeOffer } from "./offer.ts";
import { startProcess } from "./process.ts";
import { findIgnoredConfig } from "./project-config.ts";
import { openClaudeSession, type ClaudeSession } from "./session.ts";
import { configDirectory, findTranscript, isYoungCursor } from "./transcript.ts";

export interface ClaudeSettings {
  /** The program that is installed now, if one is. */
  program(): { path: string; version: string } | undefined;
  /** What its processes are given on top of what every child is. */
  environment?: Environment;
  newStartId?: () => string;
  /** How long a process is kept that nobody prompts. */
  idleMs?: number;
  /** How long the model may say nothing. */
  silenceMs?: number;
  log: Log;
}

const minuteMs = 60_000;
/** Logins and plans change without a file of ours changing. */
const offerAgeMs = 10 * minuteMs;

export function openClaudeDriver(settings: ClaudeSettings): Driver {
  const { log, environment = {}, newStartId = randomUUID } = settings;
  const config = configDirectory(childEnvironment(environment));
  const sessions = new Set<ClaudeSession>();
  const probes = new Set<string>();
  const ended = new Set<string>();
  let known: { stamp: string; at: number; offer: Promise<ClaudeOffer> } | undefined;

  function program(): string {
    const found = settings.program();
    if (found) return found.path;
    throw new AgentNotReady("Claude Code is not installed on this host. Install it first.");
  }

  /** Asked of a process of its own; kept while program, settings and login stay as they are. */
  async function readOffer(signal: AbortSignal): Promise<ClaudeOffer> {
    const path = program();
    const own = ["settings.json", ".credentials.json", "commands", "skills"];
    const files = [path, ...own.map((name) => `${config}/${name}`)];
    const stamp = files.map(stampOf).join(" ");
    if (known?.stamp !== stamp || performance.now() - known.at > offerAgeMs) {
      const offer = probe(path, signal);
      const asked = { stamp, at: performance.now(), offer };
      known = asked;
      offer.catch(() => {
        if (known === asked) known = undefined;
      });
    }
    return known.offer;
  }

  async function probe(path: string, signal: AbortSignal): Promise<ClaudeOffer> {
    const startId = newStartId();
    probes.add(startId);
    try {
      const process = await startProcess(
        {
          program: path,
          startId,
          directory: "/",
          environment,
          session: undefined,
          notes: undefined,
          onMessage() {},
          ask: () => new Promise(() => {}),
          decide: () => "deny",
          onEnd() {},
        },
        signal,
      );
      await process.end("idle");
      return offerOf(process.initialized);
    } finally {
      probes.delete(startId);
    }
  }

  function hold(place: SessionSettings, handle: string, sink: Sink): ClaudeSession {
    const session = openClaudeSession({
      place,
      handle,
      sink,
      program,
      newStartId,
      environment,
      config,
      idleMs: settings.idleMs ?? 10 * minuteMs,
      silenceMs: settings.silenceMs ?? 5 * minuteMs,
      onGone: () => sessions.delete(session),
      onEnded: () => ended.add(handle),
    });
    sessions.add(session);
    return session;
  }

  // It condenses its history by its command `compact`; summaries by their own action are opencode's alone.
  const abilities: Abilities = {
    diff: true,
    questions: true,
    revert: true,
    subAgents: true,
    shell: true,
    attachments: true,
    commands: { list: async (_directory, signal) => (await readOffer(signal)).commands },
  };

  return {
    kind: "claude_code",
    endsWithDaemon: true,
    abilities,
    sparsePatterns: [],

    async readState(signal): Promise<AgentState> {
      const found = settings.program();
      const state = {
        version: found?.version ?? null,
        capabilities: capabilitiesOf({ abilities }),
      };
      const blocked = (code: string, message: string) => ({
        ...state,
        installed: found !== undefined,
        authenticated: false,
        problems: [{ code, message }],
        options: [],
      });
      if (!found) return blocked("not_installed", "Claude Code is not installed on this host.");
      try {
        const offer = await readOffer(signal);
        if (!offer.isLoggedIn) {
          const message =
            "Claude Code is not logged in on this host. Run `claude auth login` there.";
          return blocked("not_logged_in", message);
        }
        return {
          ...state,
          installed: true,
          authenticated: true,
          problems: [],
          options: offer.options,
        };
      } catch (error) {
        log.warn("claude_code_does_not_start", { problem: describe(error) });
        return blocked("does_not_start", describe(error));
      }
    },

    async listModels(signal) {
      return (await readOffer(signal)).models;
    },

    async listModes(_directory, signal) {
      return (await readOffer(signal)).modes;
    },

    // Its switch keeps all of it out, so that nothing needs to be refused.
    findProjectConfig: async () => [],
    findIgnoredConfig: async (directory) => findIgnoredConfig(directory),

    async start(place, sink, signal) {
      const session = hold(place, randomUUID(), sink);
      try {
        const offer = await session.open(signal);
        if (!offer.isLoggedIn) {
          throw new AgentNotReady("Claude Code is not logged in on this host.");
        }
        chooseSettings(offer, place);
        return session;
      } catch (error) {
        await session.close();
        throw error;
      }
    },

    async resume(kept, sink) {
      const isKnown = findTranscript(config, kept.handle) !== undefined;
      // One whose first turn was not over may have no transcript, and has nothing to lose.
      const isFresh = isYoungCursor(kept.cursor) && isHandle(kept.handle);
      if (ended.has(kept.handle) || (!isKnown && !isFresh)) {
        throw new SessionGone("Claude Code has no record of this session any more.");
      }
      const session = hold(kept, kept.handle, sink);
      await session.catchUp(kept.turnId === null ? null : kept.cursor);
      if (kept.turnId !== null) {
        const reason = "Claude Code's process ended with the daemon, or before it.";
        sink({ type: "turn_ended", outcome: "interrupted", reason });
      }
      return session;
    },

    async restart() {
      known = undefined;
      const all = [...sessions];
      await Promise.all(all.map((session) => session.lose("Claude Code was restarted.")));
    },

    async close() {
      await Promise.all([...sessions].map((session) => session.close()));
    },

    liveStarts() {
      const served = [...sessions].flatMap((session) => session.liveStart() ?? []);
      return [...served, ...probes];
    },
  };
}

const isHandle = (handle: string) => /^[0-9a-f-]{36}$/.test(handle);
