// Exposures on the host: which tunnels are open, for what, and until when. The control plane asks for a tunnel
// when somebody uses an exposure; the host's policy file can forbid them all. What a tunnel serves depends on its
// scope: opencode, or a preview, which is a server that a session runs.
import { tunnelPath, type ExposureScope, type PayloadOf } from "@hawser/host-protocol";
import { CommandRefusal } from "../command-refusal.ts";
import type { DrivenSession } from "../journal/driven-sessions.ts";
import type { Journal } from "../journal/journal.ts";
import { describe, type Log } from "../log.ts";
import { requireReadable } from "../policy/forbidden.ts";
import type { Policy } from "../policy/policy.ts";
import { asRefusal } from "../sessions/refusals.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { Serve } from "./answer.ts";
import { createReach, type OpencodeScope } from "./opencode/reach.ts";
import { createServe } from "./opencode/serve.ts";
import { createTurns } from "./opencode/turns.ts";
import { createSessionPorts, type SessionPort } from "./preview/ports.ts";
import { createPreviewServe, portClosed } from "./preview/serve.ts";
import { openTunnel, type Tunnel, type TunnelEnd, type TunnelTiming } from "./tunnel.ts";

export interface ExposuresOptions {
  /** Address of the control plane that this host is paired with. */
  serverUrl: string;
  policy: () => Policy;
  journal: Journal;
  sessions: Pick<Sessions, "readyDriver" | "prompt" | "summarize" | "abort" | "isProcessOf">;
  /** The time by the control plane's clock, in milliseconds. */
  now: () => number;
  timing?: Partial<TunnelTiming> | undefined;
  log: Log;
}

type WantedTunnel = PayloadOf<"open_tunnel">;

interface Opened {
  status: "opened" | "already_open";
}

export interface Exposures {
  /** Where a client of opencode begins; null for a port. Throws refusals if there is no access of this scope. */
  check(
    scope: ExposureScope,
    signal: AbortSignal,
  ): Promise<{ directory: string | null; agentSessionId: string | null }>;
  /** The ports on which processes of a session listen. Throws refusals. */
  listPorts(sessionId: string): SessionPort[];
  /** Throws refusals. */
  open(wanted: WantedTunnel, signal: AbortSignal): Promise<Opened>;
  /** Ends all tunnels, and opens no more. */
  stop(): Promise<void>;
}

const mostTunnels = 50;
/** How often the expiry of each tunnel and the policy file are checked. */
const checkMs = 250;

type PortScope = Extract<ExposureScope, { kind: "port" }>;

/** What answers the requests of a tunnel. */
interface Served {
  serve: Serve;
  /** Whether the session of the scope has ended. */
  hasEnded: () => boolean;
}

interface OpenExposure {
  tunnel: Tunnel;
  /** Why it must end now; undefined if it may stay open. */
  whyEnd: () => TunnelEnd | undefined;
}

export function createExposures(options: ExposuresOptions): Exposures {
  const { policy, journal, sessions, now, log } = options;
  const url = `${options.serverUrl.replace(/^http/, "ws")}${tunnelPath}`;
  const opened = new Map<string, OpenExposure>();
  /** Tunnels that another one has replaced, and whose streams have not ended. */
  const replaced = new Set<OpenExposure>();
  const opening = new Map<string, Promise<Opened>>();
  const stopping = new AbortController();
  const listeners = new Set<() => void>();
  let isNoted = false;
  // Within a commit: what was written counts only after it.
  journal.log.onAppend(() => {
    if (isNoted) return;
    isNoted = true;
    setImmediate(() => {
      isNoted = false;
      for (const listener of listeners) listener();
    });
  });
  const turns = createTurns({
    journal,
    sessions,
    onChange(callback) {
      listeners.add(callback);
      return () => listeners.delete(callback);
    },
  });
  const checking = setInterval(check, checkMs);
  checking.unref();
  listeners.add(check);

  function check(): void {
    for (const { tunnel, whyEnd } of [...opened.values(), ...replaced]) {
      const reason = whyEnd();
      if (reason !== undefined) tunnel.close(reason);
    }
  }

  const isAllowed = ({ kind }: Pick<ExposureScope, "kind">) =>
    kind === "port" ? policy().previews : policy().exposures;

  function requireAllowed(scope: Pick<ExposureScope, "kind">): void {
    if (isAllowed(scope)) return;
    requireReadable(policy());
    throw scope.kind === "port"
      ? new CommandRefusal("previews_forbidden", previewsForbidden)
      : new CommandRefusal("exposures_forbidden", forbidden);
  }

  /** `former`: another command that opens the same exposure. */
  async function openOnce(
    wanted: WantedTunnel,
    former: Promise<unknown> | undefined,
    signal: AbortSignal,
  ): Promise<Opened> {
    await former?.catch(() => {});
    requireAllowed(wanted.scope);
    const { exposureId } = wanted;
    const known = opened.get(exposureId);
    // The control plane may have lost its end without a sign, or its node stops, and it asks for another tunnel then.
    if (known && (await known.tunnel.isAlive())) return { status: "already_open" };
    if (known) {
      opened.delete(exposureId);
      replaced.add(known);
      void known.tunnel.ended.then(() => replaced.delete(known));
    }
    await open(wanted, signal);
    return { status: "opened" };
  }

  async function open(wanted: WantedTunnel, signal: AbortSignal): Promise<void> {
    const { exposureId, ticket, scope } = wanted;
    const expiresAt = Date.parse(wanted.expiresAt);
    if (!(expiresAt > now())) {
      throw new CommandRefusal("exposure_expired", "The exposure has expired. Create another.");
    }
    if (opened.size + replaced.size >= mostTunnels) {
      const message = `This host has ${mostTunnels} tunnels open, and opens no more. Close one first.`;
      throw new CommandRefusal("limit_reached", message);
    }
    const { serve, hasEnded } =
      scope.kind === "port" ? servePort(scope) : await serveOpencode(scope, wanted, signal);
    const whyEnd = (): TunnelEnd | undefined => {
      if (!isAllowed(scope)) return "forbidden";
      if (now() >= expiresAt) return "expired";
      return hasEnded() ? "session_ended" : undefined;
    };
    // A request that arrives between two checks counts as one.
    const guarded: Serve = (stream, headers) => {
      const reason = whyEnd();
      if (reason === undefined) return serve(stream, headers);
      stream.destroy();
      opened.get(exposureId)?.tunnel.close(reason);
    };
    const tunnel = await dial({ ticket, serve: guarded }, signal);
    // The daemon began to stop in the moment in which the tunnel was opened.
    if (signal.aborted) tunnel.close("stopped");
    const exposure = { tunnel, whyEnd };
    opened.set(exposureId, exposure);
    log.info("a tunnel is open", { exposureId, scope: scope.kind });
    void forgetLater(exposureId, exposure);
    check();
  }

  async function serveOpencode(
    scope: OpencodeScope,
    { highestMode }: WantedTunnel,
    signal: AbortSignal,
  ): Promise<Served> {
    const { current, reach } = await startServer(scope, signal);
    const serve = createServe({ server: current, reach, turns, highestMode, log });
    return { serve, hasEnded: () => reach.hasEnded() };
  }

  /** The server may start later, and may be started again. */
  function servePort({ sessionId, port }: PortScope): Served {
    requireUsableSession(journal, sessionId);
    return {
      serve: createPreviewServe({ port, ports: portsOf(sessionId), log }),
      hasEnded: () => !isUsable(journal.driven.get(sessionId)),
    };
  }

  const portsOf = (sessionId: string) =>
    createSessionPorts((found) => sessions.isProcessOf(sessionId, found));

  async function startServer(scope: OpencodeScope, signal: AbortSignal) {
    const { server } = readyDriver();
    const current = () => server.current();
    const reach = createReach(scope, journal, current);
    if (scope.kind === "session") requireOpencodeSession(journal, scope.sessionId);
    try {
      await server.start(signal);
    } catch (error) {
      throw asRefusal(error);
    }
    return { current, reach };
  }

  async function forgetLater(exposureId: string, exposure: OpenExposure): Promise<void> {
    const reason = await exposure.tunnel.ended;
    if (opened.get(exposureId) === exposure) opened.delete(exposureId);
    log.info("a tunnel has ended", { exposureId, reason });
  }

  function readyDriver() {
    const { server } = sessions.readyDriver("opencode");
    if (server) return { server };
    throw new CommandRefusal(
      "capability_missing",
      "This host's opencode has no server of its own.",
    );
  }

  async function dial(
    wanted: { ticket: string; serve: Serve },
    signal: AbortSignal,
  ): Promise<Tunnel> {
    try {
      return await openTunnel({ ...wanted, url, timing: options.timing, log }, signal);
    } catch (error) {
      const message = `The host could not open a tunnel to the control plane: ${describe(error)}`;
      throw new CommandRefusal("tunnel_failed", message);
    }
  }

  return {
    async check(scope, signal) {
      requireAllowed(scope);
      if (scope.kind === "port") {
        const { sessionId, port } = scope;
        requireUsableSession(journal, sessionId);
        if (portsOf(sessionId).hostsOf(port).length === 0) {
          throw new CommandRefusal("port_closed", portClosed(port));
        }
        return { directory: null, agentSessionId: null };
      }
      const { reach } = await startServer(scope, signal);
      const { directory = null, handle = null } = reach.newest() ?? {};
      return { directory, agentSessionId: handle };
    },
    listPorts(sessionId) {
      requireAllowed({ kind: "port" });
      requireUsableSession(journal, sessionId);
      return portsOf(sessionId).list();
    },
    open(wanted, signal) {
      const { exposureId } = wanted;
      const either = AbortSignal.any([signal, stopping.signal]);
      const work = openOnce(wanted, opening.get(exposureId), either).finally(() => {
        if (opening.get(exposureId) === work) opening.delete(exposureId);
      });
      opening.set(exposureId, work);
      return work;
    },
    async stop() {
      clearInterval(checking);
      stopping.abort(new Error("The daemon stops."));
      const tunnels = [...opened.values(), ...replaced].map(({ tunnel }) => tunnel);
      for (const tunnel of tunnels) tunnel.close("stopped");
      await Promise.allSettled([...opening.values(), ...tunnels.map(({ ended }) => ended)]);
    },
  };
}

const forbidden =
  'The host\'s policy file says "exposures = no", so it gives no direct access. The host\'s owner can allow it with "exposures = yes".';

const previewsForbidden =
  'The host\'s policy file says "previews = no", or "exposures = no" without a line about previews, so it gives no access to servers of sessions. The host\'s owner can allow it with "previews = yes".';

function requireOpencodeSession(journal: Journal, sessionId: string): void {
  const { kind } = requireUsableSession(journal, sessionId);
  if (kind === "opencode") return;
  const message = `Only sessions of opencode can be exposed, and this is one of ${kind}.`;
  throw new CommandRefusal("capability_missing", message);
}

function requireUsableSession({ driven }: Journal, sessionId: string): DrivenSession {
  const record = driven.get(sessionId);
  if (record && isUsable(record)) return record;
  const message = "The session has not started, or has ended, so it cannot be exposed.";
  throw new CommandRefusal("session_ended", message);
}

const isUsable = (record: DrivenSession | undefined) =>
  record !== undefined &&
  record.state !== "starting" &&
  record.state !== "ending" &&
  record.handle !== null;
