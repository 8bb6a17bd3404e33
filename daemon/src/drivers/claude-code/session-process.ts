// The process that serves a session of Claude Code: started when it is needed, ended when it is idle. There is
// at most one for a session, because two would each write their own transcript.
import type { Environment } from "../../environment.ts";
import { AgentNotReady, type Prompt, type SessionSettings } from "../driver.ts";
import { readProjectNotes } from "../project-notes.ts";
import { makeTemporary } from "../temporary-directories.ts";
import { endProcesses } from "./leftovers.ts";
import { offerOf, type Choice, type ClaudeOffer } from "./offer.ts";
import { startProcess, type ClaudeProcess, type ProcessSettings } from "./process.ts";
import { untilRefreshed } from "./refresh-lock.ts";
import { findTranscript } from "./transcript.ts";

export interface SessionProcessOptions {
  settings: SessionSettings;
  handle: string;
  /** Path of the program. Throws AgentNotReady if none is installed. */
  program(): string;
  newStartId(): string;
  environment: Environment;
  access: ProcessSettings["access"];
  temporaryDirectory: string;
  /** Claude Code's configuration directory. */
  config: string;
  idleMs: number;
}

type ProcessHandlers = Pick<ProcessSettings, "onMessage" | "onHook" | "onAsk" | "onEnd">;

interface SessionProcessEvents extends ProcessHandlers {
  /** A process is about to start. */
  onStarting: () => void;
  /** The process is ended on purpose. */
  onEnding: () => void;
  isAttached: () => boolean;
  /** Whether a turn runs, of a prompt or of Claude Code's own. */
  isWorking: () => boolean;
}

const hasCommand = ({ commands }: ClaudeOffer, command: string) =>
  commands.some(({ name }) => name === command);

export interface Running {
  process: ClaudeProcess;
  offer: ClaudeOffer;
  /** Settings of the process's previous prompt; undefined before its first. */
  choice: Choice | undefined;
}

export const lostSession = () => new AgentNotReady("The session was lost. Resume it.");

export function createSessionProcess(
  options: SessionProcessOptions,
  { onStarting, onEnding, isAttached, isWorking, ...handlers }: SessionProcessEvents,
) {
  const { settings, handle, config } = options;
  let running: Running | undefined;
  let starting: Promise<Running> | undefined;
  let startingId: string | undefined;
  /** Start id of a process that is being ended. It may renew its login first, and counts as live until then. */
  let endingId: string | undefined;
  let idleTimer: NodeJS.Timeout | undefined;

  async function ensure(signal: AbortSignal): Promise<Running> {
    if (!isAttached()) throw lostSession();
    if (running) return running;
    starting ??= start(signal).finally(() => {
      starting = undefined;
      startingId = undefined;
    });
    return starting;
  }

  async function start(signal: AbortSignal): Promise<Running> {
    await endOthers();
    startingId = options.newStartId();
    onStarting();
    const process = await startProcess(
      {
        program: options.program(),
        startId: startingId,
        directory: settings.directory,
        environment: {
          ...options.environment,
          HAWSER_SESSION: settings.sessionId,
          TMPDIR: makeTemporary(options.temporaryDirectory, settings.sessionId),
        },
        access: options.access,
        config,
        session: findTranscript(config, handle) ? { resume: handle } : { create: handle },
        notes: readProjectNotes(settings.directory),
        trusted: settings.trusted,
        ...handlers,
      },
      signal,
    );
    running = { process, offer: offerOf(process.initialized), choice: undefined };
    if (!isAttached()) {
      await end("idle");
      throw lostSession();
    }
    endWhenIdle();
    return running;
  }

  async function endOthers(): Promise<void> {
    const own = running?.process.startId;
    await untilRefreshed(config);
    await endProcesses((one) => one.sessionId === settings.sessionId && one.startId !== own, true);
  }

  function cancelIdleEnd(): void {
    clearTimeout(idleTimer);
  }

  function endWhenIdle(): void {
    cancelIdleEnd();
    idleTimer = setTimeout(() => {
      if (!isWorking()) void end("idle");
    }, options.idleMs);
    idleTimer.unref();
  }

  async function end(state: "idle" | "working" | "stuck"): Promise<void> {
    const ending = running;
    forget();
    onEnding();
    if (!ending) return;
    endingId = ending.process.startId;
    await ending.process.end(state);
    endingId = undefined;
  }

  /** The process has ended by itself. */
  function forget(): void {
    running = undefined;
    cancelIdleEnd();
  }

  return {
    running: () => running,
    /** Start ids of the process, also of one that starts or is being ended. */
    liveStarts: () =>
      [running?.process.startId, startingId, endingId].filter((id) => id !== undefined),
    ensure,

    /** Restarts the process if it lacks the prompt's slash command: it lists commands only at its start. */
    async ensureFor({ task }: Prompt, signal: AbortSignal): Promise<Running> {
      const current = await ensure(signal);
      if (task.type !== "command" || hasCommand(current.offer, task.name)) return current;
      await end("idle");
      const next = await ensure(signal);
      if (hasCommand(next.offer, task.name)) return next;
      throw new Error(`Claude Code has no command ${task.name}.`);
    },

    /** Resolves when no process is being started. */
    async settled(): Promise<void> {
      await starting?.catch(() => {});
    },
    /** Ends processes of this session that an earlier daemon started. */
    endOthers,
    cancelIdleEnd,
    endWhenIdle,
    end,
    /** Ends the process as its state asks for. */
    endNow: () => end(isWorking() ? "working" : "idle"),
    forget,
  };
}
