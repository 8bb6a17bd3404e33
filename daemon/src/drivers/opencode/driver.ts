// The driver for opencode: one server process for all sessions of the host (server.ts), one event stream
// (event-stream.ts), and a session object for each session that is served (session.ts).
import type { Environment } from "../../environment.ts";
import { describe, type Log } from "../../log.ts";
import {
  AgentNotReady,
  SessionGone,
  capabilitiesOf,
  type Abilities,
  type AgentState,
  type Driver,
  type SessionSettings,
  type Sink,
} from "../driver.ts";
import { choose } from "../offer.ts";
import { ApiError } from "./api.ts";
import { followEvents } from "./event-stream.ts";
import { defaultLimits, type WaitLimits } from "./model-watch.ts";
import { rulesOf } from "./permission-rules.ts";
import { findProjectConfig, sparsePatterns } from "./project-config.ts";
import { adoptServer, keptStart, startServer, type Server } from "./server.ts";
import { openOpencodeSession, titleFor, type OpencodeSession } from "./session.ts";

export interface OpencodeSettings {
  /** The program that is installed now, if one is. */
  program(): { path: string; version: string } | undefined;
  /** Where the running server is kept, for the next daemon. */
  stateFile: string;
  /** What the server is given on top of what every child is. */
  environment?: Environment;
  /** How long a turn waits for its model. */
  limits?: WaitLimits;
  log: Log;
}

/** How soon a dead process is noticed. */
const lookMs = 1_000;

export function openOpencodeDriver(settings: OpencodeSettings): Driver {
  const { log } = settings;
  const place = { stateFile: settings.stateFile, environment: settings.environment ?? {} };
  const sessions = new Set<OpencodeSession>();
  const closing = new AbortController();
  let server: Server | undefined;
  let connecting: Promise<Server> | undefined;
  let startingId: string | undefined;

  const watch = setInterval(() => {
    if (server && !server.isAlive()) loseServer(server, "opencode's process ended.");
  }, lookMs);
  watch.unref();

  const abilities: Abilities = {
    diff: true,
    revert: true,
    questions: true,
    subAgents: true,
    shell: true,
    attachments: true,
    summarize: true,
    commands: {
      list: (directory, signal) =>
        asReady(async () => {
          const { api } = await connect(signal);
          const listed = await api.request("GET", "/command", { directory, signal });
          return (listed as { name: string }[]).map(({ name }) => name);
        }),
    },
  };

  /** The server, started when there is none. Throws AgentNotReady. */
  async function connect(signal: AbortSignal): Promise<Server> {
    if (server?.isAlive()) return server;
    if (server) loseServer(server, "opencode's process ended.");
    connecting ??= reach().finally(() => {
      connecting = undefined;
    });
    return unless(signal, connecting);
  }

  async function reach(): Promise<Server> {
    const adopted = await adoptServer(place);
    const found = adopted ?? (await startNew());
    log.info(adopted ? "opencode_adopted" : "opencode_started", { startId: found.startId });
    await listen(found);
    server = found;
    return found;
  }

  async function startNew(): Promise<Server> {
    const program = settings.program();
    if (!program) throw new AgentNotReady("opencode is not installed on this host.");
    try {
      return await startServer(program.path, place, (startId) => {
        startingId = startId;
      });
    } finally {
      startingId = undefined;
    }
  }

  /** Resolves when the stream is open: nothing that happens from then on is missed. */
  function listen(found: Server): Promise<void> {
    return new Promise((resolve, reject) => {
      let isFirst = true;
      const listener = {
        opened() {
          if (isFirst) resolve();
          else catchUpAll();
          isFirst = false;
        },
        event(event: Parameters<OpencodeSession["event"]>[0]) {
          for (const session of sessions) session.event(event);
        },
        isServerAlive: () => found.isAlive(),
      };
      const follow = async () => {
        await followEvents(found.api, listener, closing.signal);
        const problem = "opencode's process ended.";
        reject(new AgentNotReady(problem));
        if (!closing.signal.aborted) loseServer(found, problem);
      };
      void follow();
    });
  }

  function catchUpAll(): void {
    for (const session of sessions) {
      session.streamCut();
      session.catchUp().catch((error: unknown) => {
        log.warn("opencode_catch_up_failed", { problem: describe(error) });
      });
    }
  }

  function loseServer(lost: Server, reason: string): void {
    if (server !== lost) return;
    server = undefined;
    log.warn("opencode_lost", { startId: lost.startId, reason });
    for (const session of sessions) session.lose(reason);
  }

  function hold(
    { api, offers }: Server,
    id: string,
    of: SessionSettings,
    sink: Sink,
  ): OpencodeSession {
    const session = openOpencodeSession({
      api,
      offers,
      id,
      place: of,
      sink,
      limits: settings.limits ?? defaultLimits,
      gone: (each) => void sessions.delete(each),
      isShared: (each) =>
        [...sessions].some((other) => other !== each && other.directory === each.directory),
    });
    sessions.add(session);
    return session;
  }

  async function readState(signal: AbortSignal): Promise<AgentState> {
    const program = settings.program();
    const found: AgentState = {
      installed: program !== undefined,
      version: program?.version ?? null,
      authenticated: false,
      problems: [],
      capabilities: capabilitiesOf({ abilities }),
      options: [],
    };
    if (!program) {
      const message = "opencode is not installed on this host. Install it with install_agent.";
      return { ...found, problems: [{ code: "not_installed", message }] };
    }
    try {
      const { models, options } = await (await connect(signal)).offers.read(signal);
      if (models.providers.length > 0) return { ...found, authenticated: true, options };
      const message =
        "opencode has no provider of models. Run `opencode auth login` on the host, as its user.";
      return { ...found, options, problems: [{ code: "not_logged_in", message }] };
    } catch (error) {
      return { ...found, problems: [{ code: "does_not_start", message: describe(error) }] };
    }
  }

  return {
    kind: "opencode",
    endsWithDaemon: false,
    abilities,
    sparsePatterns,
    readState,
    findProjectConfig: async (directory) => findProjectConfig(directory),
    listModels: (signal) =>
      asReady(async () => (await (await connect(signal)).offers.read(signal)).models),
    // Configuration of the directory is switched off, so the modes are the same everywhere.
    listModes: (_directory, signal) =>
      asReady(async () => (await (await connect(signal)).offers.read(signal)).modes),
    start: (session, sink, signal) =>
      asReady(async () => {
        const found = await connect(signal);
        choose(await found.offers.recent(signal), session);
        const { id } = (await found.api.request("POST", "/session", {
          directory: session.directory,
          signal,
          body: {
            title: titleFor(session.title),
            permission: rulesOf(session.policy),
            metadata: { hawserSession: session.sessionId },
          },
        })) as { id: string };
        return hold(found, id, session, sink);
      }),
    resume: (kept, sink, signal) =>
      asReady(async () => {
        const found = await connect(signal);
        const { directory, handle } = kept;
        try {
          await found.api.request("GET", `/session/${handle}`, { directory, signal });
        } catch (error) {
          if (!(error instanceof ApiError && error.status === 404)) throw error;
          throw new SessionGone("opencode has no such session any more.", { cause: error });
        }
        const session = hold(found, handle, kept, sink);
        try {
          await session.catchUp();
        } catch (error) {
          session.release();
          throw error;
        }
        return session;
      }),
    async restart() {
      const running = server ?? (await adoptServer(place));
      if (!running) return;
      const busy = [...sessions].filter((session) => session.isRunning());
      server = undefined;
      for (const session of sessions) session.lose("opencode was restarted.");
      // A command that runs would outlive the server.
      await Promise.allSettled(
        busy.map(({ handle, directory }) =>
          running.api.request("POST", `/session/${handle}/abort`, { directory, deadlineMs: 3_000 }),
        ),
      );
      await running.stop();
    },
    async close() {
      clearInterval(watch);
      closing.abort();
      for (const session of sessions) session.release();
    },
    liveStarts() {
      const ids = [startingId, server?.startId, keptStart(place)];
      return [...new Set(ids.filter((id) => id !== undefined))];
    },
  };
}

/** An answer that does not come means that the agent cannot work now. */
async function asReady<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ApiError) throw new AgentNotReady(error.message, { cause: error });
    throw error;
  }
}

/** The promise's result, unless the signal is given first; the work itself goes on. */
function unless<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const stop = () => reject(new AgentNotReady("opencode was not ready in time."));
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
