// One connection to NATS, which is one user in one account. Only this file imports the client; it
// translates its errors to ours, and reconnects forever.
import type { Nkey } from "@hawser/host-protocol";
import {
  connect,
  createInbox,
  errors,
  type Msg,
  type NatsConnection,
} from "@nats-io/transport-node";
import { ConfigError } from "../config.ts";
import type { Log } from "../log.ts";

export type Data = Uint8Array | string;

export interface FabricMessage {
  subject: string;
  data: Uint8Array;
  /** The subject that the sender wants the answer on; undefined if it wants none. */
  replyTo: string | undefined;
  /** Answers the request; no-op if no answer was requested. */
  respond: (data: Data) => void;
}

/** Requests, messages and subscriptions in one account. */
export interface FabricAccount {
  /** Throws NoResponders, FabricTimeout or FabricDown. */
  request: (subject: string, data: Data, options: { timeoutMs: number }) => Promise<Uint8Array>;
  /** Silently lost while the fabric is down, so use it only for messages that may be lost. */
  publish: (subject: string, data: Data) => void;
  /** Survives reconnects, until the returned function is called. */
  subscribe: (
    subject: string,
    options: { queue?: string },
    handle: (message: FabricMessage) => void | Promise<void>,
  ) => () => void;
  /** Resolves once the server has processed everything sent before, including subscriptions. */
  flush: () => Promise<void>;
}

/** Nobody listens on the subject. For a host's subject: the host is not connected. */
export class NoResponders extends Error {}
/** No answer arrived in time. It is unknown whether the request arrived. */
export class FabricTimeout extends Error {}
/** The node is not connected to NATS, and nothing was sent. */
export class FabricDown extends Error {}

export interface AccountConnection extends FabricAccount {
  /** The answers of all responders, until there are `most` of them or the time is over. */
  gather: (
    subject: string,
    data: Data,
    options: { most: number; timeoutMs: number },
  ) => Promise<Uint8Array[]>;
  isUp: () => boolean;
  /** Connects again as the user of now. Requests wait until the connection is back. */
  reconnect: () => Promise<void>;
  close: () => Promise<void>;
}

interface AccountOptions {
  urls: string[];
  name: string;
  log: Log;
  /** Called for each connection, because a rotation of keys changes the token. */
  user: () => { key: Nkey; token: string };
  /** Called after the connection was lost or restored. */
  onChange: () => void;
}

const longestLeaveMs = 5_000;

export async function dialAccount(options: AccountOptions): Promise<AccountConnection> {
  const connection = await dial(options);
  const { log } = options;
  let isUp = true;
  let isBack = () => {};
  let reconnecting: Promise<void> | undefined;
  void follow(connection, log, (now) => {
    isUp = now;
    if (isUp) isBack();
    options.onChange();
  });

  async function reconnect(): Promise<void> {
    const back = Promise.withResolvers<void>();
    const timer = setTimeout(back.resolve, longestLeaveMs);
    isBack = back.resolve;
    reconnecting = back.promise.finally(() => {
      clearTimeout(timer);
      reconnecting = undefined;
    });
    const waiting = reconnecting;
    await connection.reconnect();
    await waiting;
  }

  function refuseWhenDown(): void {
    // The client would buffer the message, drop it at the reconnect, and let the request time out.
    if (!isUp || connection.isClosed() || connection.isDraining())
      throw new FabricDown("NATS is not connected.");
  }

  return {
    isUp: () => isUp && !connection.isClosed(),
    reconnect,
    async request(subject, data, { timeoutMs }) {
      await reconnecting;
      refuseWhenDown();
      try {
        return (await connection.request(subject, data, { timeout: timeoutMs })).data;
      } catch (error) {
        throw asFabricError(error, subject);
      }
    },
    publish(subject, data) {
      if (isUp) sayWhileOpen(() => connection.publish(subject, data));
    },
    subscribe(subject, { queue }, handle) {
      const failed = (error: unknown) =>
        log.error({ err: error, subject }, "handling a message failed");
      const take = (message: Msg) => {
        try {
          // No promise for a handler that has none: it may drop thousands of messages a second.
          handle({
            subject: message.subject,
            data: message.data,
            replyTo: message.reply,
            respond: (data) => sayWhileOpen(() => message.respond(data)),
          })?.catch(failed);
        } catch (error) {
          failed(error);
        }
      };
      const subscription = connection.subscribe(subject, {
        ...(queue !== undefined && { queue }),
        callback: (error, message) => (error ? failed(error) : take(message)),
      });
      return () => subscription.unsubscribe();
    },
    flush: () => connection.flush(),
    gather(subject, data, { most, timeoutMs }) {
      refuseWhenDown();
      return gather(connection, subject, data, most, timeoutMs);
    },
    async close() {
      const timer = setTimeout(() => void connection.close(), longestLeaveMs);
      // A disconnected connection cannot be drained.
      await (isUp ? connection.drain() : connection.close()).catch(() => connection.close());
      clearTimeout(timer);
    },
  };
}

/** No-op once the connection is closed or closing. */
function sayWhileOpen(say: () => unknown): void {
  try {
    say();
  } catch (error) {
    const isLeaving =
      error instanceof errors.ClosedConnectionError ||
      error instanceof errors.DrainingConnectionError;
    if (!isLeaving) throw error;
  }
}

async function dial({ urls, name, user }: AccountOptions): Promise<NatsConnection> {
  const where = urls.join(", ");
  const connection = await connect({
    servers: urls,
    name,
    authenticator(nonce) {
      const { key, token } = user();
      const sig = key.sign(nonce ?? "").toString("base64url");
      return { jwt: token, nkey: key.publicKey, sig };
    },
    timeout: 2_000,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 200,
    reconnectJitter: 200,
    // A server may refuse a node for a moment while the server starts.
    ignoreAuthErrorAbort: true,
    // A server that stopped answering is dropped after about 6 s.
    pingInterval: 2_000,
    maxPingOut: 2,
    noAsyncTraces: true,
  }).catch((cause: unknown) => {
    if (cause instanceof errors.AuthorizationError) {
      throw new UnknownToNats(
        `NATS at ${where} does not know this service. Start nats-server with the configuration that "hawser-control-plane init-fabric" wrote.`,
        { cause },
      );
    }
    throw new ConfigError(
      `NATS at ${where} cannot be reached: ${(cause as Error).message}. Start nats-server, or correct HAWSER_NATS_URLS.`,
      { cause },
    );
  });
  const { version = "0" } = connection.info ?? {};
  if (isNewEnough(version)) return connection;
  await connection.close();
  throw new ConfigError(
    `NATS at ${where} is nats-server ${version}. Hawser needs ${leastVersion.join(".")} or later.`,
  );
}

/** A nats-server that runs but does not accept the keys of this service. */
export class UnknownToNats extends ConfigError {}

/** Earlier versions have a flaw that lets clients that have not logged in harm the WebSocket listener. */
const leastVersion = [2, 12, 7];

function isNewEnough(version: string): boolean {
  const numbers = version.split(/[.-]/).map(Number);
  const differs = leastVersion.findIndex((number, at) => numbers[at] !== number);
  return differs === -1 || numbers[differs]! > leastVersion[differs]!;
}

/** Logs every loss and return of a connection until it is closed. */
async function follow(
  connection: NatsConnection,
  log: Log,
  note: (isUp: boolean) => void,
): Promise<void> {
  for await (const status of connection.status()) {
    if (status.type === "disconnect") {
      log.warn({ server: status.server }, "NATS was lost; reconnecting");
      note(false);
    } else if (status.type === "reconnect") {
      const { version = "0" } = connection.info ?? {};
      if (!isNewEnough(version)) log.error({ server: status.server, version }, "NATS is too old");
      log.info({ server: status.server }, "NATS is back");
      note(true);
    } else if (status.type === "error") {
      log.warn({ err: status.error }, "NATS reported an error");
    }
  }
}

function gather(
  connection: NatsConnection,
  subject: string,
  data: Data,
  most: number,
  timeoutMs: number,
): Promise<Uint8Array[]> {
  const answers: Uint8Array[] = [];
  return new Promise((resolve, reject) => {
    const inbox = createInbox();
    const end = (error?: Error) => {
      clearTimeout(timer);
      subscription.unsubscribe();
      if (error) reject(error);
      else resolve(answers);
    };
    const timer = setTimeout(() => end(noAnswer(answers, subject)), timeoutMs);
    const subscription = connection.subscribe(inbox, {
      callback: (error, message) => {
        if (error) return end(error);
        if (message.headers?.code === 503) return end(noResponders(subject));
        answers.push(message.data);
        if (answers.length >= most) end();
      },
    });
    connection.publish(subject, data, { reply: inbox });
  });
}

const noResponders = (subject: string) => new NoResponders(`Nobody listens on ${subject}.`);
const noAnswer = (answers: unknown[], subject: string) =>
  answers.length > 0 ? undefined : new FabricTimeout(`No answer on ${subject} in time.`);

function asFabricError(error: unknown, subject: string): unknown {
  if (error instanceof errors.TimeoutError) return noAnswer([], subject);
  if (error instanceof errors.NoRespondersError) return noResponders(subject);
  if (error instanceof errors.RequestError) {
    if (error.isNoResponders()) return noResponders(subject);
    // The connection was lost while the answer was awaited: the request may have arrived.
    return new FabricTimeout(`The link was lost before ${subject} answered.`, { cause: error });
  }
  return error;
}
