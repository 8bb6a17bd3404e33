// For tests of the daemon: the server side of its link. The fabric is a real nats-server. A small edge in
// front of it checks token and proof like the real one, and can cut, freeze or refuse links. A small
// control plane behind it keeps the hosts' reports in memory. It connects to the fabric by WebSocket, like
// the host: one process must not use both transports.
import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import {
  CommandReply,
  Hello,
  Heartbeat,
  Report,
  commandSubject,
  everyUpSubject,
  hostCommands,
  hostPermissions,
  isProofGood,
  isRenewGenuine,
  makeNkey,
  makeSigningKey,
  nkeyFromSeed,
  proofHeader,
  readUpSubject,
  signAddressProof,
  signCommand,
  signForgetProof,
  type CommandOutcome,
  type Forget,
  type HelloReply,
  type HostCommand,
  type LogEntry,
  type Refused,
  type ReportReply,
  type RenewRequest,
  type UpCall,
} from "@hawser/host-protocol";
import { wsconnect, type NatsConnection } from "@nats-io/nats-core";
import type { State } from "@hawser/daemon/state/state.ts";
import { removeDirectory } from "./remove-directory.ts";
import { freePort } from "./free-port.ts";
import { canConnect, openLinks } from "./small-edge.ts";
import { stopProcess } from "./stop-process.ts";
import { until } from "./until.ts";

/** An HTTP status with a header `Retry-After`. */
interface RefusedUpgrade {
  status: number;
  retryAfter?: string;
}

type Told = { call: UpCall; instanceId: string; body: unknown };

const natsServer = resolve(import.meta.dirname, "../../.tools/nats-server");

export async function startSmallControlPlane() {
  const directory = mkdtempSync(join(tmpdir(), "hawser-link-"));
  const port = await freePort();
  const webSocketPort = await freePort();
  const commandKey = makeSigningKey();
  /** By public key. */
  const hosts = new Map<string, string>();
  const links = openLinks(webSocketPort);
  let nats: ChildProcess | undefined;
  let node: NatsConnection | undefined;

  const world = {
    directory,
    commandKey,
    baseUrl: "",
    tokenSeconds: 3600,
    /** Difference between its clock and this machine's. */
    clockMs: 0,
    /** Every call of a host, in order. */
    told: [] as Told[],
    /** The logs as applied, by session, and the journal each is written from. */
    logs: new Map<string, LogEntry[]>(),
    journals: new Map<string, string>(),
    upgrades: { admitted: 0, refused: 0 },
    renewals: 0,
    /** Replaces answers; calls that are not named here are answered normally. */
    answers: {} as {
      hello?: (hello: Hello) => HelloReply | Refused | "silence" | undefined;
      report?: (report: Report) => ReportReply | Refused | "silence" | undefined;
      heartbeat?: () => object;
      renew?: () => object;
      upgrade?: () => number | RefusedUpgrade | undefined;
      httpRenew?: () => { status: number; text: string } | undefined;
    },
    heartbeatSeconds: 60,
    reconnectSeconds: 0.05,
    links,

    /** Adds a paired host. Start the fabric afterwards. */
    pair(state: State, instanceId = `ins_${randomUUID().replaceAll("-", "")}`) {
      const key = makeNkey("user");
      hosts.set(key.publicKey, instanceId);
      state.saveCredentials({
        serverUrl: world.baseUrl,
        instanceId,
        seed: key.seed,
        token: world.mint(key.publicKey),
        commandKey: commandKey.publicKey,
      });
      return instanceId;
    },

    mint(publicKey: string, ageSeconds = 0): string {
      const iat = Math.floor(now() / 1000) - ageSeconds;
      const claims = { sub: publicKey, iat, exp: iat + world.tokenSeconds };
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
      return `${part({ typ: "JWT" })}.${part(claims)}.${part({ random: randomUUID() })}`;
    },

    /** Issues another token for the host, dated this long ago. */
    remint(state: State, ageSeconds = 0): void {
      const credentials = state.readCredentials()!;
      const { publicKey } = nkeyFromSeed(credentials.seed);
      state.saveCredentials({ ...credentials, token: world.mint(publicKey, ageSeconds) });
    },

    async startFabric(): Promise<void> {
      writeFileSync(join(directory, "nats.conf"), configuration());
      const config = ["-c", join(directory, "nats.conf")];
      nats = spawn("setpriv", ["--pdeathsig=KILL", "--", natsServer, ...config], {
        stdio: "ignore",
      });
      await until("nats-server listens", () => canConnect(webSocketPort));
      node ??= await wsconnect({
        servers: `ws://127.0.0.1:${webSocketPort}`,
        user: "node",
        pass: "node",
        maxReconnectAttempts: -1,
        reconnectTimeWait: 50,
      });
      if (world.told.length === 0) node.subscribe(everyUpSubject, { callback: take });
      await until("the node is connected", () =>
        node!.flush().then(
          () => true,
          () => false,
        ),
      );
    },

    async killFabric(): Promise<void> {
      await stopProcess(nats!, "SIGKILL");
    },

    /** The answer to a host that was removed, with its proof. */
    removal(instanceId: string, hostKey = hostKeyOf(instanceId)): Forget {
      const proof = signForgetProof([commandKey.privateKey], { instanceId, hostKey }, now());
      return { forget: true, proof };
    },

    hostKeyOf,

    /** Sends a command to a host, and returns its reply. */
    async ask(
      instanceId: string,
      command: HostCommand,
      commandId: string = randomUUID(),
      payload: Record<string, unknown> = {},
    ): Promise<CommandOutcome> {
      const time = now();
      const signed = signCommand(commandKey.privateKey, {
        instanceId,
        commandId,
        issuedAt: new Date(time).toISOString(),
        body: {
          command,
          deadlineAt: new Date(time + hostCommands[command].deadlineMs).toISOString(),
          actor: { type: "user", id: "usr_test" },
          payload,
        },
      });
      const { data } = await node!.request(commandSubject(instanceId), JSON.stringify(signed), {
        timeout: 3_000,
      });
      const { outcome } = CommandReply.parse(JSON.parse(Buffer.from(data).toString()));
      if ("result" in outcome) hostCommands[command].result.parse(outcome.result);
      return outcome;
    },

    /** Orders a host to forget. */
    askToForget(instanceId: string): Promise<CommandOutcome> {
      const hostKey = hostKeyOf(instanceId);
      return world.ask(instanceId, "forget_host", randomUUID(), { hostKey });
    },

    calls: (call: UpCall) => world.told.filter((each) => each.call === call),

    async [Symbol.asyncDispose]() {
      await node?.close();
      if (nats) await stopProcess(nats, "SIGKILL");
      links.cut();
      server.closeAllConnections();
      server.close();
      removeDirectory(directory);
    },
  };

  const now = () => Date.now() + world.clockMs;

  function hostKeyOf(instanceId: string): string {
    return [...hosts].find(([, id]) => id === instanceId)![0];
  }

  function configuration(): string {
    const allow = (subjects: string[]) =>
      `{ allow: [${subjects.map((each) => `"${each}"`).join(", ")}] }`;
    const users = [...hosts].map(([publicKey, instanceId]) => {
      const { publish, subscribe } = hostPermissions(instanceId);
      return `{ nkey: ${publicKey}, permissions: { publish: ${allow(publish)}, subscribe: ${allow(subscribe)}, allow_responses: { max: 1, expires: "60s" } } }`;
    });
    return `
      listen: 127.0.0.1:${port}
      websocket { host: 127.0.0.1, port: ${webSocketPort}, no_tls: true }
      ping_interval: "8s"
      ping_max: 2
      authorization { users: [ { user: node, password: node }, ${users.join(", ")} ] }`;
  }

  function take(
    error: Error | null,
    message: { subject: string; data: Uint8Array; respond: (data: string) => boolean },
  ): void {
    if (error) throw error;
    const { instanceId, call } = readUpSubject(message.subject);
    const body = JSON.parse(Buffer.from(message.data).toString()) as unknown;
    world.told.push({ call, instanceId, body });
    const reply = answer(call, instanceId, body);
    if (reply !== "silence") message.respond(JSON.stringify(reply));
  }

  function answer(call: UpCall, instanceId: string, body: unknown): object | "silence" {
    const { answers } = world;
    if (call === "hello") {
      const hello = Hello.parse(body);
      return answers.hello?.(hello) ?? welcome(hello);
    }
    if (call === "report") {
      const report = Report.parse(body);
      return answers.report?.(report) ?? apply(report);
    }
    if (call === "heartbeat") {
      Heartbeat.parse(body);
      return answers.heartbeat?.() ?? { nextSeconds: world.heartbeatSeconds };
    }
    if (call === "bye") return {};
    return answers.renew?.() ?? { token: world.mint(hostKeyOf(instanceId)) };
  }

  /** Like the real one: answers for the named sessions only. */
  function welcome({ journalId, sessions }: Hello): HelloReply {
    const compared = sessions.map(({ sessionId, lastSeq }) => {
      const appliedSeq = world.logs.get(sessionId)?.length ?? 0;
      const isFree = !world.journals.has(sessionId) || lastSeq <= appliedSeq;
      if (isFree) world.journals.set(sessionId, journalId);
      return { sessionId, appliedSeq };
    });
    const { heartbeatSeconds, reconnectSeconds } = world;
    return {
      heartbeatSeconds,
      reconnectJitterSeconds: reconnectSeconds,
      sessions: compared,
    };
  }

  function apply({ journalId, sessions }: Report): ReportReply {
    const applied = [];
    for (const { sessionId, entries } of sessions) {
      const log = world.logs.get(sessionId) ?? [];
      for (const entry of entries) {
        const owner = world.journals.get(sessionId) ?? journalId;
        const isReset = entry.update.sessionUpdate === "journal_reset";
        if (entry.seq !== log.length + 1 || (owner !== journalId && !isReset)) continue;
        log.push(entry);
        world.logs.set(sessionId, log);
        world.journals.set(sessionId, journalId);
      }
      if (world.journals.get(sessionId) !== journalId) return { failed: true };
      applied.push({ sessionId, appliedSeq: log.length });
    }
    return { applied };
  }

  const dateHeader = () => new Date(now()).toUTCString();

  function respond(response: ServerResponse, status: number, text: string): void {
    response.writeHead(status, { date: dateHeader(), "content-type": "application/json" });
    response.end(text);
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += chunk as string;
    if (request.url === "/api/hosts/pair") {
      const { publicKey } = JSON.parse(text) as { publicKey: string };
      const instanceId = `ins_${randomUUID().replaceAll("-", "")}`;
      hosts.set(publicKey, instanceId);
      const token = world.mint(publicKey);
      const reply = { instanceId, token, commandKey: commandKey.publicKey };
      return respond(response, 200, JSON.stringify(reply));
    }
    if (request.url === "/api/hosts/nonce") return respond(response, 200, `{"nonce":"n"}`);
    if (request.url === "/api/hosts/renew") {
      const other = world.answers.httpRenew?.();
      if (other) return respond(response, other.status, other.text);
      const renewal = JSON.parse(text) as RenewRequest;
      if (!isRenewGenuine(renewal)) return respond(response, 401, "{}");
      world.renewals++;
      const { publicKey: hostKey, challenge } = renewal;
      const address =
        challenge === undefined
          ? undefined
          : signAddressProof([commandKey.privateKey], world.baseUrl, { hostKey, challenge });
      return respond(response, 200, JSON.stringify({ token: world.mint(hostKey), address }));
    }
    respond(response, 404, "{}");
  }

  /** How an upgrade is refused; undefined if it is admitted. */
  function objectTo({ headers }: IncomingMessage): RefusedUpgrade | undefined {
    const forced = world.answers.upgrade?.();
    if (forced !== undefined) return typeof forced === "number" ? { status: forced } : forced;
    const token = /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1];
    const claims = JSON.parse(
      Buffer.from(token?.split(".")[1] ?? "e30", "base64url").toString(),
    ) as { sub?: string; exp?: number };
    const proof = String(headers[proofHeader]);
    const isGood =
      claims.sub !== undefined &&
      hosts.has(claims.sub) &&
      claims.exp! * 1000 > now() &&
      isProofGood(claims.sub, headers.host ?? "", proof, now());
    return isGood ? undefined : { status: 401 };
  }

  const server = createServer((request, response) => void serve(request, response));
  server.on("upgrade", (request: IncomingMessage, host: Socket, head: Buffer) => {
    const refused = objectTo(request);
    if (refused) {
      world.upgrades.refused++;
      const { status, retryAfter } = refused;
      const wait = retryAfter === undefined ? "" : `retry-after: ${retryAfter}\r\n`;
      host.end(
        `HTTP/1.1 ${status} No\r\ndate: ${dateHeader()}\r\n${wait}content-length: 0\r\n\r\n`,
      );
      return;
    }
    world.upgrades.admitted++;
    links.join(request, host, head);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  world.baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return world;
}

export type SmallControlPlane = Awaited<ReturnType<typeof startSmallControlPlane>>;
