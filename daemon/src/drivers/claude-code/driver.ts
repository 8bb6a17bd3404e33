// The driver for Claude Code: one process for each session in use (session.ts), controlled through the
// Agent SDK that is installed beside the program (sdk.ts).
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { childEnvironment, type Environment } from "../../environment.ts";
import { stampOf } from "../../find-program.ts";
import { describe, type Log } from "../../log.ts";
import { denialText, type Decision } from "../../policy/call.ts";
import {
  capabilitiesOf,
  type Abilities,
  AgentNotReady,
  notInstalled,
  SessionGone,
  type AgentState,
  type Driver,
  type SessionSettings,
  type Sink,
} from "../driver.ts";
import { openQuota } from "../quota.ts";
import { makeTemporary } from "../temporary-directories.ts";
import type { ClaudeAccess } from "./access.ts";
import { answerOf } from "./decisions.ts";
import { chooseSettings, offerOf, type ClaudeOffer } from "./offer.ts";
import { startProcess } from "./process.ts";
import { findIgnoredConfig } from "./project-config.ts";
import { trustable } from "./trusted-config.ts";
import { openClaudeSession, type ClaudeSession } from "./session.ts";
import { configDirectory, findTranscript, isFirstTurnCursor } from "./transcript.ts";

export interface ClaudeSettings {
  /** The installed program; undefined if there is none. */
  program(): { path: string; version: string } | undefined;
  /** Added to the environment that every child process gets. */
  environment?: Environment;
  /** How a linked secret is used. Throws AgentNotReady if the account cannot be used now. */
  access?: () => ClaudeAccess;
  /** Contains the directory for temporary files of each session. */
  temporaryDirectory: string;
  newStartId?: () => string;
  /** Keeps the used quota across restarts of the daemon. */
  quotaFile?: string;
  /** After this time without a turn, a process is ended; ten minutes if not set. */
  idleMs?: number;
  /** How long the model may send nothing; five minutes if not set. */
  silenceMs?: number;
  log: Log;
}

const minuteMs = 60_000;
/** An offer is read again after this time: a login can change without a change of files. */
const offerAgeMs = 10 * minuteMs;
const noSession: Decision = { answer: "deny", rule: "this process has no session" };

export function createClaudeDriver(settings: ClaudeSettings): Driver {
  const { log, environment = {}, temporaryDirectory, newStartId = randomUUID } = settings;
  const config = configDirectory(childEnvironment(environment));
  const sessions = new Set<ClaudeSession>();
  const login = join(config, ".credentials.json");
  const quota = openQuota({ file: settings.quotaFile, login });
  /** Start ids of the processes that are asked for the offer. */
  const offerStarts = new Set<string>();
  /** Handles of ended sessions. */
  const ended = new Set<string>();
  let known: { stamp: string; at: number; offer: Promise<ClaudeOffer> } | undefined;

  function program(): string {
    const found = settings.program();
    if (found) return found.path;
    throw new AgentNotReady(notInstalled("Claude Code"));
  }

  /** Cached while program, settings and login files are unchanged. */
  async function readOffer(signal: AbortSignal): Promise<ClaudeOffer> {
    const path = program();
    const own = ["settings.json", ".credentials.json", "commands", "skills"];
    const files = [path, ...own.map((name) => `${config}/${name}`)];
    const stamp = files.map(stampOf).join(" ");
    // The quota of another login would count for days.
    if (known && known.stamp !== stamp) quota.forget();
    if (known?.stamp !== stamp || performance.now() - known.at > offerAgeMs) {
      const offer = requestOffer(path, signal);
      const read = { stamp, at: performance.now(), offer };
      known = read;
      offer.catch(() => {
        if (known === read) known = undefined;
      });
    }
    return known.offer;
  }

  /** Starts a process only to read its offer. */
  async function requestOffer(path: string, signal: AbortSignal): Promise<ClaudeOffer> {
    const startId = newStartId();
    offerStarts.add(startId);
    try {
      const process = await startProcess(
        {
          program: path,
          startId,
          directory: "/",
          environment: { ...environment, TMPDIR: makeTemporary(temporaryDirectory, startId) },
          access: settings.access,
          config,
          session: undefined,
          notes: undefined,
          onMessage() {},
          onHook: () => Promise.resolve(answerOf(noSession)),
          onAsk: () => Promise.resolve({ behavior: "deny", message: denialText(noSession) }),
          onEnd() {},
        },
        signal,
      );
      await process.end("idle");
      return offerOf(process.initialized);
    } finally {
      offerStarts.delete(startId);
    }
  }

  function attach(session: SessionSettings, handle: string, sink: Sink): ClaudeSession {
    const attached = openClaudeSession({
      quota,
      settings: session,
      handle,
      sink,
      program,
      newStartId,
      environment,
      access: settings.access,
      temporaryDirectory,
      config,
      idleMs: settings.idleMs ?? 10 * minuteMs,
      silenceMs: settings.silenceMs ?? 5 * minuteMs,
      onDetached: () => sessions.delete(attached),
      onEnded: () => ended.add(handle),
    });
    sessions.add(attached);
    return attached;
  }

  // No `summarize`: Claude Code condenses its history by its slash command `compact`.
  const abilities: Abilities = {
    diff: true,
    fork: true,
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
    hasSandbox: false,
    abilities,
    trustable,
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
      if (!found) return blocked("not_installed", notInstalled("Claude Code"));
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

    readUtilization: async () => quota.read(),

    async listModels(signal) {
      return (await readOffer(signal)).models;
    },

    async listModes(signal) {
      return (await readOffer(signal)).modes;
    },

    // Claude Code ignores the repository's configuration (settingSources), so nothing is refused.
    findProjectConfig: async () => [],
    findIgnoredConfig: async (directory) => findIgnoredConfig(directory),

    async start(sessionSettings, sink, signal) {
      const session = attach(sessionSettings, randomUUID(), sink);
      try {
        const offer = await session.open(signal);
        if (!offer.isLoggedIn) {
          throw new AgentNotReady("Claude Code is not logged in on this host.");
        }
        chooseSettings(offer, sessionSettings);
        return session;
      } catch (error) {
        await session.close();
        throw error;
      }
    },

    async resume(resumable, sink) {
      const isKnown = findTranscript(config, resumable.handle) !== undefined;
      // A session in its first turn may have no transcript yet; it is started again.
      const isFresh = isFirstTurnCursor(resumable.cursor) && isHandle(resumable.handle);
      if (ended.has(resumable.handle) || (!isKnown && !isFresh)) {
        throw new SessionGone("Claude Code no longer has this session.");
      }
      const session = attach(resumable, resumable.handle, sink);
      await session.catchUp(resumable.turnId === null ? null : resumable.cursor);
      if (resumable.turnId !== null) {
        const reason = "Claude Code's process ended while the turn was running.";
        sink({ type: "turn_ended", outcome: "interrupted", reason });
      }
      return session;
    },

    async restart() {
      quota.forget();
      known = undefined;
      const all = [...sessions];
      await Promise.all(all.map((session) => session.lose("Claude Code was restarted.")));
    },

    async close() {
      await Promise.all([...sessions].map((session) => session.close()));
    },

    liveStarts() {
      const served = [...sessions].flatMap((session) => session.liveStarts());
      return [...served, ...offerStarts];
    },
  };
}

const isHandle = (handle: string) => /^[0-9a-f-]{36}$/.test(handle);
