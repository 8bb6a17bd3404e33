// A host with the real opencode and a scripted model, and tunnels to it, for tests of exposures.
import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatId, type SessionMode } from "@hawser/contract";
import type { ExposureScope } from "@hawser/host-protocol";
import { listAgentProcesses } from "@hawser/daemon/drivers/agent-processes.ts";
import { createOpencodeDriver } from "@hawser/daemon/drivers/opencode/driver.ts";
import { isStartOf } from "@hawser/daemon/drivers/start-id.ts";
import { silentLog } from "@hawser/daemon/log.ts";
import { agentProgram } from "./agent-programs.ts";
import { homeEnvironment } from "./opencode-bench.ts";
import { writeOpencodeHome, writeSlashCommand } from "./opencode-home.ts";
import { startScriptedModel, type ScriptedModel } from "./scripted-model.ts";
import {
  makeSessionId,
  makeSmallHost,
  policy,
  type OpenHost,
  type OpenOptions,
  type SmallHost,
} from "./small-host.ts";
import { startTunnelEdge, type AcceptedTunnel, type TunnelEdge } from "./tunnel-edge.ts";

export interface ExposedHost extends AsyncDisposable {
  small: SmallHost;
  host: OpenHost;
  edge: TunnelEdge;
  model: ScriptedModel;
  /** Path of opencode's program. */
  program: string;
  /** Starts a session of opencode in the host's repository. */
  startSession(title?: string, mode?: SessionMode): Promise<ExposedSession>;
  /** Opens a tunnel, and returns the control plane's end. */
  expose(scope: ExposureScope, more?: Expose): Promise<AcceptedTunnel & { exposureId: string }>;
  /** Asks opencode itself, past every exposure. */
  direct(
    method: string,
    path: string,
    more?: { directory?: string; body?: unknown },
  ): Promise<unknown>;
  /** Where opencode listens, and the process that does. */
  server(): { port: number; password: string; pid: number };
  writePolicy(lines: string): void;
  /** Stops the host like a daemon. */
  stop(): Promise<void>;
}

export interface ExposedSession {
  sessionId: string;
  /** opencode's id. */
  handle: string;
  directory: string;
}

interface Expose {
  exposureId?: string;
  expiresInMs?: number;
  highestMode?: SessionMode;
}

export const makeExposureId = () => formatId("exposure", randomUUID());

/** A key of a model provider, in opencode's own file of logins. No answer may contain it. */
export const plantedKey = "sk-planted-5f1c0e7d";

export async function startExposedHost(
  options: Pick<OpenOptions, "tunnelTiming"> = {},
): Promise<ExposedHost> {
  const program = await agentProgram("opencode");
  const model = await startScriptedModel();
  const edge = await startTunnelEdge();
  const small = makeSmallHost();
  const home = join(small.directory, "home");
  mkdirSync(home, { recursive: true });
  writeOpencodeHome(home, model.url);
  writeSlashCommand(home, "greet", "Greet them: $ARGUMENTS");
  mkdirSync(join(home, ".local/share/opencode"), { recursive: true });
  const logins = { stub: { type: "api", key: plantedKey } };
  writeFileSync(join(home, ".local/share/opencode/auth.json"), JSON.stringify(logins));
  const stateFile = join(small.directory, "state/opencode-server.json");
  const driver = createOpencodeDriver({
    program: () => ({ path: program, version: "1.18.33" }),
    stateFile,
    environment: homeEnvironment(home),
    log: silentLog,
  });
  const host = small.open({ wrapDriver: () => driver, serverUrl: edge.serverUrl, ...options });
  const server = () =>
    JSON.parse(readFileSync(stateFile, "utf8")) as { port: number; password: string; pid: number };
  let stopping: Promise<void> | undefined;
  const exposed: ExposedHost = {
    stop: () => (stopping ??= host.close()),
    small,
    host,
    edge,
    model,
    program,
    server,
    async startSession(title = "Try it", mode = "ask") {
      const sessionId = makeSessionId();
      const wanted = { sessionId, kind: "opencode" as const, directory: small.repository };
      await host.must("start_session", { ...wanted, policy, title, mode });
      const { handle, directory } = host.journal.driven.get(sessionId)!;
      return { sessionId, handle: handle!, directory };
    },
    async expose(
      scope,
      { exposureId = makeExposureId(), expiresInMs = 600_000, highestMode = "unattended" } = {},
    ) {
      const accepted = edge.accept();
      await host.must("open_tunnel", {
        exposureId,
        ticket: "ticket-1",
        expiresAt: new Date(Date.now() + expiresInMs).toISOString(),
        scope,
        highestMode,
      });
      return { ...(await accepted), exposureId };
    },
    async direct(method, path, { directory, body } = {}) {
      const { port, password } = server();
      const authorization = `Basic ${Buffer.from(`opencode:${password}`).toString("base64")}`;
      const named = directory === undefined ? {} : { "x-opencode-directory": directory };
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        headers: { authorization, "content-type": "application/json", ...named },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(30_000),
      });
      const text = await response.text();
      return text === "" ? undefined : (JSON.parse(text) as unknown);
    },
    writePolicy: (lines) =>
      writeFileSync(
        join(small.directory, "policy"),
        `root = ${join(small.directory, "root")}\n${lines}`,
      ),
    async [Symbol.asyncDispose]() {
      await exposed.stop();
      const isOwn = ({ startId }: { startId: string }) =>
        isStartOf(join(small.directory, "state"), startId);
      for (const { pid } of listAgentProcesses().filter(isOwn)) process.kill(pid, "SIGKILL");
      await edge[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
      small[Symbol.dispose]();
    },
  };
  return exposed;
}
