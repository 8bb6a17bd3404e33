// The driver for opencode: one server process for all sessions of the host (server.ts), one event stream
// (event-stream.ts), and an object for each attached session (session.ts).
import type { Environment } from "../../environment.ts";
import { describe, type Log } from "../../log.ts";
import { abortable } from "../abortable.ts";
import {
  AgentNotReady,
  notInstalled,
  SessionGone,
  capabilitiesOf,
  type Abilities,
  type AgentState,
  type Driver,
  type ResumableSession,
  type SessionSettings,
  type Sink,
} from "../driver.ts";
import { choose } from "../offer.ts";
import { ApiError } from "./api.ts";
import { asksAlways, sessionRules, type Rule } from "./configuration.ts";
import { followEvents } from "./event-stream.ts";
import type { LiveEvent } from "./frames.ts";
import { defaultLimits, type WaitLimits } from "./model-watch.ts";
import { findIgnoredConfig, findProjectConfig, sparsePatterns } from "./project-config.ts";
import { adoptServer, recordedStart, startServer, type Server } from "./server.ts";
import { openOpencodeSession, titleFor, type OpencodeSession } from "./session.ts";
import { listCommands } from "./slash-commands.ts";
import { addTrustedServers, trustable } from "./trusted-servers.ts";

export interface OpencodeSettings {
  /** The installed program; undefined if there is none. */
  program(): { path: string; version: string } | undefined;
  /** File that records the running server for the next daemon. */
  stateFile: string;
  /** Added to the environment that every child process gets. */
  environment?: Environment;
  /** How long a turn waits for its model; defaultLimits if not set. */
  limits?: WaitLimits;
  log: Log;
}

/** How often the driver checks that the server runs. */
const checkMs = 1_000;

export function createOpencodeDriver(settings: OpencodeSettings): Driver {
  const { log } = settings;
  const serverSettings = { stateFile: settings.stateFile, environment: settings.environment ?? {} };
  const sessions = new Set<OpencodeSession>();
  const closing = new AbortController();
  let server: Server | undefined;
  let connecting: Promise<Server> | undefined;
  let startingId: string | undefined;

  const watch = setInterval(() => {
    if (server && !server.isAlive()) loseServer(server, "opencode's process ended.");
  }, checkMs);
  watch.unref();

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
      list: (directory, signal) =>
        asReady(async () => {
          const { api } = await connect(signal);
          return listCommands(api, directory, signal);
        }),
    },
  };

  /** Returns the server, and starts it if none runs. Throws AgentNotReady. */
  async function connect(signal: AbortSignal): Promise<Server> {
    if (server?.isAlive()) return server;
    if (server) loseServer(server, "opencode's process ended.");
    connecting ??= reach().finally(() => {
      connecting = undefined;
    });
    const tooLate = () => new AgentNotReady("opencode was not ready in time.");
    return abortable(signal, connecting, tooLate);
  }

  async function reach(): Promise<Server> {
    const adopted = await adoptServer(serverSettings);
    const found = adopted ?? (await startNew());
    log.info(adopted ? "opencode_adopted" : "opencode_started", { startId: found.startId });
    await listen(found);
    server = found;
    return found;
  }

  async function startNew(): Promise<Server> {
    const program = settings.program();
    if (!program) throw new AgentNotReady(notInstalled("opencode", "update_opencode"));
    try {
      return await startServer(program.path, serverSettings, (startId) => {
        startingId = startId;
      });
    } finally {
      startingId = undefined;
    }
  }

  /** Resolves when the event stream is open: no later event is missed. */
  function listen(found: Server): Promise<void> {
    return new Promise((resolve, reject) => {
      let isFirst = true;
      const listener = {
        onOpen() {
          if (isFirst) resolve();
          else catchUpAll();
          isFirst = false;
        },
        onEvent(event: LiveEvent) {
          for (const session of sessions) session.onEvent(event);
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
      session.onStreamGap();
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

  async function attach(
    { api, offers, gate, servers }: Server,
    id: string,
    session: SessionSettings | ResumableSession,
    sink: Sink,
  ): Promise<OpencodeSession> {
    const own = await addTrustedServers(api, session, (error, name) =>
      log.warn("opencode_server_not_added", { name, problem: describe(error) }),
    );
    const attached = openOpencodeSession({
      api,
      offers,
      gate,
      servers: [...servers, ...own],
      id,
      settings: session,
      sink,
      limits: settings.limits ?? defaultLimits,
      onReleased: (each) => void sessions.delete(each),
      isShared: (each) =>
        [...sessions].some((other) => other !== each && other.directory === each.directory),
    });
    sessions.add(attached);
    return attached;
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
      const message = notInstalled("opencode", "update_opencode");
      return { ...found, problems: [{ code: "not_installed", message }] };
    }
    try {
      const { models, options } = await (await connect(signal)).offers.read(signal);
      if (models.providers.length > 0) return { ...found, authenticated: true, options };
      const message =
        "opencode has no provider of models. Run `opencode auth login` on the host, as the daemon's user.";
      return { ...found, options, problems: [{ code: "not_logged_in", message }] };
    } catch (error) {
      return { ...found, problems: [{ code: "does_not_start", message: describe(error) }] };
    }
  }

  return {
    kind: "opencode",
    endsWithDaemon: false,
    hasSandbox: false,
    abilities,
    // opencode reads the texts of skills in any repository. Its other settings hold for the whole server.
    trustable,
    sparsePatterns,
    readState,
    findProjectConfig: async (directory) => findProjectConfig(directory),
    findIgnoredConfig: async (directory) => findIgnoredConfig(directory),
    listModels: (signal) =>
      asReady(async () => (await (await connect(signal)).offers.read(signal)).models),
    listModes: (signal) =>
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
            permission: sessionRules,
            metadata: { hawserSession: session.sessionId },
          },
        })) as { id: string };
        return attach(found, id, session, sink);
      }),
    resume: (resumable, sink, signal) =>
      asReady(async () => {
        const found = await connect(signal);
        const { directory, handle } = resumable;
        const path = `/session/${handle}`;
        try {
          const known = await found.api.request("GET", path, { directory, signal });
          const { permission } = known as { permission?: Rule[] };
          // A session of an older daemon has other rules. opencode adds these to them.
          if (!asksAlways(permission ?? [])) {
            const body = { permission: sessionRules };
            await found.api.request("PATCH", path, { directory, signal, body });
          }
        } catch (error) {
          if (!(error instanceof ApiError && error.status === 404)) throw error;
          throw new SessionGone("opencode no longer has this session.", { cause: error });
        }
        const session = await attach(found, handle, resumable, sink);
        try {
          await session.catchUp();
        } catch (error) {
          session.release();
          throw error;
        }
        return session;
      }),
    async restart() {
      const running = server ?? (await adoptServer(serverSettings));
      if (!running) return;
      const busy = [...sessions].filter((session) => session.isRunning());
      server = undefined;
      for (const session of sessions) session.lose("opencode was restarted.");
      // A running command would outlive the server.
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
    server: {
      start: (signal) => asReady(async () => void (await connect(signal))),
      current: () => server,
    },
    liveStarts() {
      const ids = [startingId, server?.startId, recordedStart(serverSettings)];
      return [...new Set(ids.filter((id) => id !== undefined))];
    },
  };
}

/** Throws AgentNotReady if the server does not answer or answers with an error. */
async function asReady<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ApiError) throw new AgentNotReady(error.message, { cause: error });
    throw error;
  }
}
