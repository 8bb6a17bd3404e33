// The one `codex app-server` that serves all sessions of a codex home, and its offer. It is started on
// demand and ended when no session uses it. When it ends, its sessions report `lost`.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { AgentProblem } from "@hawser/contract";
import { childEnvironment, type Environment } from "../../environment.ts";
import type { Log } from "../../log.ts";
import { abortable } from "../abortable.ts";
import { AgentNotReady, notInstalled } from "../driver.ts";
import { openQuota, type Utilization } from "../quota.ts";
import { makeTemporary } from "../temporary-directories.ts";
import { startAppServer, type AppServer } from "./app-server.ts";
import type { RequestId } from "./connection.ts";
import { offerOf, type CodexOffer } from "./offer.ts";
import type { Answers, Model, RateLimits } from "./protocol.ts";
import { profileOf, type HostPaths, type Place, type Profile } from "./sandbox.ts";
import type { Thread } from "./thread.ts";

export interface CodexSettings {
  /** The installed program; undefined if there is none. */
  program(): { path: string; version: string } | undefined;
  /** CODEX_HOME: the directory of login, settings and transcripts. */
  home: string;
  /** Added to the environment that every child process gets. */
  environment?: Environment;
  /** The gateway of a linked account; undefined if it has none. Throws AgentNotReady if the account cannot be used now. */
  gateway?: () => string | undefined;
  /** Contains the directories for temporary files: one for each process, one for each session. */
  temporaryDirectory: string;
  /** Home of the daemon's user. */
  userHome: string;
  /** Paths that are closed to agents. */
  closed: Pick<HostPaths, "secrets" | "ownDirectories">;
  newStartId?: () => string;
  /** Keeps the used quota across restarts of the daemon. */
  quotaFile?: string;
  log: Log;
  /** After this time without any event, a turn has failed; ten minutes if not set. */
  silenceMs?: number;
  /** After this time without sessions, the process is ended; one minute if not set. */
  idleMs?: number;
}

/** A running process. */
export interface LiveServer {
  server: AppServer;
  threads: Map<string, Thread>;
  offer: CodexOffer;
  problems: AgentProblem[];
  /** What the commands of a session may read and write. */
  profileOf(place: Place): Profile;
}

export interface SharedServer {
  /** Runs the work with a process that stays at least as long. Throws AgentNotReady. */
  use<Result>(signal: AbortSignal, work: (live: LiveServer) => Promise<Result>): Promise<Result>;
  /** How much of the account's quota is used; null if unknown. Asks codex only if it runs. */
  readUtilization(): Promise<Utilization | null>;
  forgetQuota(): void;
  /** Ends the process after a while if it has no threads. Called when a thread was removed. */
  endWhenIdle(): void;
  /** Ends the process. Its sessions report `lost` with the reason. */
  stop(reason: string): Promise<void>;
  /** Ends the process, because a call may run that nobody decided about. */
  failGate(why: string): void;
  /** Ends the process without reporting anything. */
  close(): Promise<void>;
  liveStarts(): string[];
}

export const callMs = 20_000;
/** The answer comes from the network, and a start waits for it. */
const quotaMs = 3_000;

export function createSharedServer(settings: CodexSettings): SharedServer {
  const { home, log, newStartId = randomUUID, idleMs = 60_000 } = settings;
  let live: LiveServer | undefined;
  let starting: Promise<LiveServer> | undefined;
  let busy = 0;
  let idle: NodeJS.Timeout | undefined;
  let stopReason: string | undefined;
  let startId: string | undefined;

  const quota = openQuota({ file: settings.quotaFile, login: join(home, "auth.json") });

  const noteLimits = (limits: RateLimits | undefined) => {
    for (const period of ["primary", "secondary"] as const) {
      const { usedPercent, resetsAt } = limits?.[period] ?? {};
      if (typeof usedPercent !== "number") continue;
      quota.note(period, { used: usedPercent, resetsAt: resetsAt ? resetsAt * 1000 : null });
    }
  };

  const start = async (): Promise<LiveServer> => {
    const program = settings.program();
    if (!program) throw new AgentNotReady(notInstalled("Codex"));
    const threads = new Map<string, Thread>();
    const owner = (params: Record<string, unknown>) => {
      const id = params["threadId"];
      if (typeof id !== "string") return undefined;
      return threads.get(id) ?? [...threads.values()].find((thread) => thread.owns(id));
    };
    const gateway = settings.gateway?.();
    startId = newStartId();
    const { environment = {}, temporaryDirectory } = settings;
    const temporary = makeTemporary(temporaryDirectory, startId);
    const server: AppServer = await startAppServer(
      { program: program.path, home, startId, temporary, environment, gateway },
      {
        onNotification(method, params) {
          if (method === "account/rateLimits/updated")
            noteLimits(params["rateLimits"] as RateLimits | undefined);
          owner(params)?.onNotification(method, params);
        },
        onRequest(id: RequestId, method, params) {
          const thread = owner(params);
          if (thread) thread.onRequest(id, method, params);
          else server.refuse(id, "This client does not have the thread.");
        },
      },
      async (input, gone) => {
        const thread = threads.get(input.session_id);
        return thread ? thread.onCall(input, gone) : "The daemon does not have this session.";
      },
    );
    const { userHome, closed } = settings;
    const { PATH: searchPath } = childEnvironment(environment);
    const paths = { ...closed, program: program.path, codexHome: home, userHome, searchPath };
    const sandbox = { profileOf: (place: Place) => profileOf(place, paths) };
    try {
      const made = { server, threads, ...sandbox, ...(await readOffer(server, home)) };
      live = made;
      log.info("codex_started", { startId: server.startId });
      void loseWhenEnded(made);
      return made;
    } catch (error) {
      await server.stop();
      throw notReady(error);
    }
  };

  /** Waits for the end of the process. */
  const loseWhenEnded = async (made: LiveServer) => {
    const ended = await made.server.ended;
    const reason = stopReason ?? ended;
    if (live === made) live = undefined;
    log.info("codex_ended", { startId: made.server.startId, reason });
    for (const thread of made.threads.values()) thread.lose(reason);
    made.threads.clear();
  };

  const endWhenIdle = () => {
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
        const now = starting ? await abortable(signal, starting) : live!;
        return await abortable(signal, work(now));
      } finally {
        busy -= 1;
        endWhenIdle();
      }
    },
    async readUtilization() {
      if (live && !live.server.hasEnded()) {
        // Fails without an account of the service; the reports of the model's answers count then.
        await live.server
          .call("account/rateLimits/read", {}, quotaMs)
          .then(({ rateLimits }) => noteLimits(rateLimits))
          .catch(() => {});
      }
      return quota.read();
    },
    forgetQuota: () => quota.forget(),
    endWhenIdle,
    stop,
    failGate(why) {
      log.warn("codex_gate_failed", { why });
      void stop(
        `Codex was stopped, because a call may have run without a decision: ${why}. Prompt again; if it happens again, update Codex on this host.`,
      );
    },
    async close() {
      clearTimeout(idle);
      for (const thread of live?.threads.values() ?? []) thread.stopReporting();
      await stop("The daemon stopped.");
    },
    // Includes a process that is starting: it exists before it answers.
    liveStarts: () => (startId !== undefined && (live || starting) ? [startId] : []),
  };
}

/** Reads the offer, and whether the sandbox works. Called once for each process. */
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

/** A busy host may need seconds for it, and the result counts for the life of the process. */
async function trySandbox(server: AppServer, home: string): Promise<AgentProblem[]> {
  const sandboxPolicy = { type: "readOnly", networkAccess: false };
  const command = { command: ["/bin/true"], cwd: home, timeoutMs: 15_000, sandboxPolicy };
  const why = await server.call("command/exec", command, callMs).then(
    ({ exitCode, stderr }) =>
      exitCode === 0 ? undefined : stderr.trim().slice(0, 200) || `exit code ${exitCode}`,
    (error: unknown) => (error as Error).message,
  );
  if (why === undefined) return [];
  // In /tmp, where every user can make it.
  const cure = why.includes("socket directory")
    ? `Remove /tmp/codex-daemon-${process.getuid?.()} as root: another user has made it.`
    : "Allow user namespaces on it.";
  const message = `Codex's sandbox does not work on this host (${why}). ${cure}`;
  return [{ code: "sandbox_unavailable", message }];
}

export function notReady(error: unknown): Error {
  if (error instanceof AgentNotReady) return error;
  return new AgentNotReady(`Codex failed: ${(error as Error).message}`, { cause: error });
}

export function fail(error: unknown): never {
  throw notReady(error);
}
