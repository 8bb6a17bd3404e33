// The one `codex app-server` that serves all sessions of a codex home: started when somebody needs it, ended
// when nobody does, and what it offers. A session of an ended process is told that it is lost.
import { randomUUID } from "node:crypto";
import type { AgentProblem } from "@hawser/contract";
import type { Environment } from "../../environment.ts";
import type { Log } from "../../log.ts";
import { AgentNotReady } from "../driver.ts";
import { startAppServer, type AppServer } from "./app-server.ts";
import type { RequestId } from "./connection.ts";
import { offerOf, type CodexOffer } from "./offer.ts";
import type { Answers, Model } from "./protocol.ts";
import type { Thread } from "./thread.ts";

export interface CodexSettings {
  /** The program that is installed now, if one is. */
  program(): { path: string; version: string } | undefined;
  /** CODEX_HOME: login, settings and transcripts of one identity. */
  home: string;
  /** What the process is given on top of what every child is. */
  environment?: Environment;
  newStartId?: () => string;
  log: Log;
  /** A turn in which nothing happens for so long has failed; ten minutes unless given. */
  silenceMs?: number;
  /** A process that serves no session is ended after so long; a minute unless given. */
  idleMs?: number;
}

/** One process, while it is there. */
export interface Live {
  server: AppServer;
  threads: Map<string, Thread>;
  offer: CodexOffer;
  problems: AgentProblem[];
}

export interface SharedServer {
  /** With a process that is there, and stays while the work goes on. Throws AgentNotReady. */
  use<Result>(signal: AbortSignal, work: (live: Live) => Promise<Result>): Promise<Result>;
  /** To be called when a thread has gone: a process that serves nobody is ended after a while. */
  rest(): void;
  stop(reason: string): Promise<void>;
  /** Ends it without a word to anybody. */
  close(): Promise<void>;
  liveStarts(): string[];
}

export const callMs = 20_000;

export function openSharedServer(settings: CodexSettings): SharedServer {
  const { home, log, newStartId = randomUUID, idleMs = 60_000 } = settings;
  let live: Live | undefined;
  let starting: Promise<Live> | undefined;
  let busy = 0;
  let idle: NodeJS.Timeout | undefined;
  let stopReason: string | undefined;
  let startId: string | undefined;

  const start = async (): Promise<Live> => {
    const program = settings.program();
    if (!program) throw new AgentNotReady("Codex is not installed on this host.");
    const threads = new Map<string, Thread>();
    const owner = (params: Record<string, unknown>) => {
      const id = params["threadId"];
      if (typeof id !== "string") return undefined;
      return threads.get(id) ?? [...threads.values()].find((thread) => thread.owns(id));
    };
    startId = newStartId();
    const { environment = {} } = settings;
    const server: AppServer = await startAppServer(
      { program: program.path, home, startId, environment },
      {
        onNotification: (method, params) => owner(params)?.hear(method, params),
        onRequest(id: RequestId, method, params) {
          const thread = owner(params);
          if (thread) thread.ask(id, method, params);
          else server.refuse(id, "Nobody here has this thread.");
        },
      },
    );
    try {
      const made = { server, threads, ...(await readOffer(server, home)) };
      live = made;
      log.info("codex_started", { startId: server.startId });
      void lose(made);
      return made;
    } catch (error) {
      await server.stop();
      throw notReady(error);
    }
  };

  /** Waits for the end of the process. */
  const lose = async (made: Live) => {
    const ended = await made.server.ended;
    const reason = stopReason ?? ended;
    if (live === made) live = undefined;
    log.info("codex_ended", { startId: made.server.startId, reason });
    for (const thread of made.threads.values()) thread.lose(reason);
    made.threads.clear();
  };

  const rest = () => {
    clearTimeout(idle);
    idle = setTimeout(() => {
      if (busy === 0 && live?.threads.size === 0) void live.server.stop();
    }, idleMs).unref();
  };

  const stop = async (reason: string) => {
    stopReason = reason;
    try {
      const now = live ?? (await starting?.catch(() => undefined));
      await now?.server.stop();
    } finally {
      stopReason = undefined;
    }
  };

  return {
    async use(signal, work) {
      clearTimeout(idle);
      busy += 1;
      try {
        if (!live || live.server.hasEnded()) {
          starting ??= start().finally(() => (starting = undefined));
        }
        const now = starting ? await unless(signal, starting) : live!;
        return await unless(signal, work(now));
      } finally {
        busy -= 1;
        rest();
      }
    },
    rest,
    stop,
    async close() {
      clearTimeout(idle);
      for (const thread of live?.threads.values() ?? []) thread.silence();
      await stop("The daemon stopped.");
    },
    // Also while it starts: its processes are there before it answers.
    liveStarts: () => (startId !== undefined && (live || starting) ? [startId] : []),
  };
}

/** What it offers, and whether commands can run at all: asked once for each process. */
async function readOffer(server: AppServer, home: string) {
  const { config } = await server.call("config/read", { cwd: home }, callMs);
  const modes = await server.call("collaborationMode/list", {}, callMs);
  const models: Model[] = [];
  for (let cursor: string | null = null, pages = 0; pages < 20; pages++) {
    const page: Answers["model/list"] = await server.call("model/list", { cursor }, callMs);
    models.push(...page.data);
    cursor = page.nextCursor;
    if (cursor === null) break;
  }
  const names = modes.data.flatMap(({ mode }) => mode ?? []).sort();
  return { offer: offerOf(config, models, names), problems: await trySandbox(server, home) };
}

async function trySandbox(server: AppServer, home: string): Promise<AgentProblem[]> {
  const sandboxPolicy = { type: "readOnly", networkAccess: false };
  const command = { command: ["/bin/true"], cwd: home, timeoutMs: 5_000, sandboxPolicy };
  const why = await server.call("command/exec", command, callMs).then(
    ({ exitCode, stderr }) => (exitCode === 0 ? undefined : stderr.trim().slice(0, 200)),
    (error: unknown) => (error as Error).message,
  );
  if (why === undefined) return [];
  const message = `Codex cannot keep commands apart from the host (${why}). Allow user namespaces on it.`;
  return [{ code: "sandbox_unavailable", message }];
}

export function notReady(error: unknown): Error {
  if (error instanceof AgentNotReady) return error;
  return new AgentNotReady(`Codex did not do it: ${(error as Error).message}`, { cause: error });
}

export function fail(error: unknown): never {
  throw notReady(error);
}

/** Its result, or the signal's reason when that comes first. */
export function unless<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  if (signal.aborted) return Promise.reject(signal.reason as Error);
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason as Error);
  signal.addEventListener("abort", abort, { once: true });
  return Promise.race([work, promise]).finally(() => signal.removeEventListener("abort", abort));
}
