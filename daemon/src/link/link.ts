// The host's link to the control plane: dials, sends hello and heartbeats, renews its token through a second
// connection before the first one's expires, and dials again after every loss. It never gives up; it ends
// when it is stopped, or when the control plane proves that it has removed the host.
import {
  ByeReply,
  HeartbeatReply,
  NewToken,
  isForgetProven,
  type Bye,
  type Heartbeat,
  type Hello,
  type HostFacts,
  type Nkey,
} from "@hawser/host-protocol";
import { describe, type Log } from "../log.ts";
import { pause, within } from "../pause.ts";
import {
  DuplicateHost,
  attach,
  type Attaching,
  type AttachedConnection,
  type Welcome,
} from "./attach.ts";
import { backOff } from "./back-off.ts";
import { NotAdmitted, dial, type Connection, type Ending } from "./dial.ts";
import { askTime, renewToken } from "./doors.ts";
import { Forgotten } from "./forgotten.ts";
import { createLinkStatus, type LinkStatus } from "./link-status.ts";
import type { ServerClock } from "./server-clock.ts";
import { defaultTiming, type LinkTiming } from "./timing.ts";
import { readTokenLife } from "./token.ts";
import { isUnknownHost, waitBefore, type Ask, type IsRemoved } from "./up-call.ts";
import { createWaits } from "./waits.ts";

export interface LinkOptions {
  serverUrl: string;
  instanceId: string;
  key: Nkey;
  token: string;
  /** The pinned command keys. One of them must have signed the proof that the host was removed. */
  commandKeys: () => readonly string[];
  saveToken: (token: string) => void;
  clock: ServerClock;
  log: Log;
  timing?: Partial<LinkTiming>;
  /** A connection that was made ahead, so that the first hello does not wait for one. */
  dialled?: Connection | undefined;
  bootId: string;
  hello: () => Hello;
  facts: () => HostFacts;
  answer: Attaching["answer"];
  /** Called when a hello was answered. */
  onWelcome: (welcome: Welcome, hello: Hello) => void;
  onOnline: () => void;
  /** Called last, when the control plane has proven that it removed the host. */
  onForget: () => void;
  onStatus: (status: LinkStatus) => void;
}

export interface Link {
  status: () => LinkStatus;
  isOnline: () => boolean;
  /** Sends a request over the newest connection; throws if there is none. */
  ask: Ask;
  /** Publishes over the newest connection, if there is one. Delivery is not confirmed. */
  publish: (subject: string, body: object) => void;
  /** Sends changed facts or operations within a second, instead of with the next heartbeat. No-op if unchanged. */
  factsChanged: () => void;
  /** Renews the token now instead of in time. */
  renewNow: () => void;
  /** Ends the link as if the control plane had proven that it removed the host. */
  forget: () => void;
  /**
   * Accepts no more commands and sends nothing more, but stays connected, so that the host is not seen
   * to leave before its successor arrives. The returned function closes the connection.
   */
  handOver: () => Promise<() => Promise<void>>;
  /** Announces the departure, and resolves when every connection is closed. */
  stop: () => Promise<void>;
}

/** Makes a connection for a link that will start soon. Throws if the host is not admitted. */
export async function dialAhead(
  options: Pick<LinkOptions, "serverUrl" | "instanceId" | "key" | "token" | "clock">,
  signal: AbortSignal,
): Promise<Connection> {
  await askTime(options.serverUrl, options.clock, signal);
  return dial({ ...options, ...defaultTiming, token: () => options.token }, signal);
}

export function startLink(options: LinkOptions): Link {
  const { clock, log, serverUrl, key } = options;
  const timing = { ...defaultTiming, ...options.timing };
  const ended = new AbortController();
  /** Sends nothing more by itself, even while connections stay open. */
  const quiet = new AbortController();
  const retiring = new Map<AttachedConnection, Promise<void>>();
  let token = options.token;
  let life = readTokenLife(token);
  let renewSoon = new AbortController();
  let current: AttachedConnection | undefined;
  /** The facts as the control plane knows them. */
  let reportedFacts = "";
  let news = () => {};
  let dialled = options.dialled;
  /** Heartbeats and renewal. */
  let tasks: Promise<unknown> | undefined;
  let isForgotten = false;
  let isStopping = false;
  const status = createLinkStatus(clock, log, options.onStatus);
  const waits = createWaits(timing);

  const isRemoved: IsRemoved = (proof) =>
    isForgetProven(proof, {
      instanceId: options.instanceId,
      hostKey: key.publicKey,
      commandKeys: options.commandKeys(),
      now: clock.now(),
    });

  function keepToken(fresh: string): void {
    life = readTokenLife(fresh);
    token = fresh;
    options.saveToken(fresh);
  }

  function forget(): void {
    isForgotten = true;
    ended.abort();
  }

  const attaching: Attaching = {
    ...options,
    ...timing,
    token: () => token,
    isRemoved,
    onAnswer: status.setKnown,
    onEnd: forget,
    takeDialled() {
      const connection = dialled;
      dialled = undefined;
      return connection?.isClosed() ? undefined : connection;
    },
  };

  async function renewFromNothing(): Promise<void> {
    try {
      keepToken((await renewToken({ serverUrl, key, clock, isRemoved }, ended.signal)).token);
    } catch (error) {
      if (isUnknownHost(error)) status.setKnown(false);
      throw error;
    }
    status.setKnown(true);
    log.info("got a new token by the host's key");
  }

  /** Dials until the host is admitted; corrects the clock and renews the token on the way, once each. */
  async function establish(mustRenew: boolean): Promise<AttachedConnection> {
    const isExpired = () => life.expiresAt <= clock.now();
    let corrected = false;
    let renewed = false;
    for (;;) {
      if (!renewed && (mustRenew || isExpired())) {
        await renewFromNothing();
        renewed = true;
      }
      try {
        return await attach(attaching, ended.signal);
      } catch (error) {
        if (!(error instanceof NotAdmitted)) throw error;
        if (Math.abs(error.clockMoved) > timing.clockToleranceMs && !corrected) {
          corrected = true;
        } else if (renewed) {
          throw error;
        } else {
          mustRenew = true;
        }
      }
    }
  }

  async function keepLinked(): Promise<void> {
    let mustRenew = false;
    // Commands have deadlines of seconds. The link is worth having even if the server's time is unknown.
    if (!clock.isKnown()) await askTime(serverUrl, clock, ended.signal).catch(() => {});
    while (!ended.signal.aborted) {
      let waitMs: number;
      try {
        const ending = await stayOnline(await establish(mustRenew));
        if (isStopping || ended.signal.aborted) return;
        mustRenew = ending.expired;
        status.setState("connecting", ending.reason);
        // An expiry concerns one host; any other loss may concern all of them.
        waitMs = ending.expired ? 0 : waits.afterLoss();
      } catch (error) {
        if (error instanceof Forgotten) return forget();
        mustRenew = false;
        if (isStopping || ended.signal.aborted) return;
        waitMs = waits.afterFailure(error);
        const isDuplicate = error instanceof DuplicateHost;
        status.setState(isDuplicate ? "refused" : "connecting", describe(error));
      }
      await pause(waitMs, ended.signal);
    }
  }

  /** Resolves when the last connection is lost. */
  async function stayOnline(first: AttachedConnection): Promise<Ending> {
    const lost = new AbortController();
    const signal = AbortSignal.any([ended.signal, quiet.signal, lost.signal]);
    const stable = setTimeout(waits.linkIsStable, timing.stableMs);
    const cut = () => (current ?? first).connection.cut();
    ended.signal.addEventListener("abort", cut);
    try {
      adopt(first);
      status.setState("online");
      if (ended.signal.aborted) cut();
      tasks = Promise.all([beat(signal), renewInTime(signal)]).catch((error: unknown) => {
        if (error instanceof Forgotten) return forget();
        log.warn("the link failed", { error: describe(error) });
        cut();
      });
      for (;;) {
        const watched = current!;
        const ending = await watched.connection.closed;
        if (current === watched) return ending;
      }
    } finally {
      cut();
      current = undefined;
      clearTimeout(stable);
      ended.signal.removeEventListener("abort", cut);
      lost.abort();
      await tasks;
    }
  }

  function adopt(attachment: AttachedConnection): void {
    const { welcome, hello } = attachment;
    options.onWelcome(welcome, hello);
    waits.spreadOver(welcome.reconnectJitterSeconds);
    reportedFacts = JSON.stringify(hello.facts);
    current = attachment;
    options.onOnline();
  }

  /** Throws only Forgotten; pings find out whether the link is alive. */
  async function beat(signal: AbortSignal): Promise<void> {
    let everyMs = current!.welcome.heartbeatSeconds * 1000;
    // Spreads hosts that came back together over the interval.
    await calm(Math.random() * everyMs, signal);
    while (!signal.aborted) {
      const facts = options.facts();
      const news = JSON.stringify(facts) === reportedFacts ? {} : { facts };
      const heartbeat: Heartbeat = { bootId: options.bootId, ...news };
      try {
        const reply = await ask("heartbeat", heartbeat, HeartbeatReply);
        reportedFacts = JSON.stringify(facts);
        everyMs = reply.nextSeconds * 1000;
      } catch (error) {
        if (error instanceof Forgotten) throw error;
        if (!signal.aborted) log.warn("a heartbeat was not answered", { error: describe(error) });
      }
      await calm(Math.max(everyMs, timing.shortestBeatMs), signal);
    }
  }

  /** Waits for the next heartbeat, or for a change, and then a moment more to report several at once. */
  async function calm(ms: number, signal: AbortSignal): Promise<void> {
    const fresh = new AbortController();
    news = () => fresh.abort();
    if (JSON.stringify(options.facts()) !== reportedFacts) fresh.abort();
    await pause(ms, AbortSignal.any([signal, fresh.signal]));
    if (fresh.signal.aborted) await pause(timing.shortestBeatMs, signal);
  }

  /** Throws only Forgotten. */
  async function renewInTime(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      renewSoon = new AbortController();
      const hasOldToken = current?.connection.token !== token;
      const dueMs = hasOldToken ? 0 : life.renewAt - clock.now();
      if (dueMs > 0) {
        // In short steps, because a timer stops while the machine sleeps.
        await pause(Math.min(dueMs, 60_000), AbortSignal.any([signal, renewSoon.signal]));
        continue;
      }
      try {
        if (!hasOldToken) keepToken((await ask("renew", {}, NewToken)).token);
        await moveOver(signal);
        failures = 0;
      } catch (error) {
        if (error instanceof Forgotten) throw error;
        if (signal.aborted) return;
        log.warn("the token could not be renewed", { error: describe(error) });
        const waitMs = backOff(++failures, { firstMs: 500, longestMs: 60_000 });
        await pause(waitBefore(error, waitMs), signal);
      }
    }
  }

  /** A second connection with the new token takes over; the first one finishes its commands. */
  async function moveOver(signal: AbortSignal): Promise<void> {
    const next = await attach(attaching, signal);
    const former = current;
    try {
      if (!former || isStopping) return next.connection.cut();
      adopt(next);
    } catch (error) {
      next.connection.cut();
      throw error;
    }
    log.info("the token was renewed");
    const gone = former.retire(timing.retireMs).finally(() => retiring.delete(former));
    retiring.set(former, gone);
  }

  const ask: Ask = (name, body, reply, timeoutMs) => {
    if (!current) return Promise.reject(new Error("The host is not linked."));
    return current.ask(name, body, reply, timeoutMs);
  };

  async function runToTheEnd(): Promise<void> {
    await keepLinked();
    await within(timing.stopMs, Promise.all(retiring.values()));
    for (const { connection } of retiring.keys()) connection.cut();
    status.setState(isForgotten ? "forgotten" : "stopped");
    if (isForgotten) options.onForget();
  }
  const running = runToTheEnd();

  return {
    status: status.read,
    isOnline: () => current !== undefined,
    ask,
    publish(subject, body) {
      if (!current || current.connection.isClosed()) return;
      try {
        current.connection.nats.publish(subject, JSON.stringify(body));
      } catch (error) {
        // The connection is being closed.
        log.warn("nothing was published", { error: describe(error) });
      }
    },
    factsChanged() {
      if (JSON.stringify(options.facts()) !== reportedFacts) news();
    },
    renewNow() {
      life = { ...life, renewAt: 0 };
      renewSoon.abort();
    },
    forget,
    async handOver() {
      isStopping = true;
      quiet.abort();
      await within(timing.stopMs, tasks ?? Promise.resolve());
      if (!current) {
        ended.abort();
        await running;
        return async () => {};
      }
      const drained = Promise.withResolvers<void>();
      const release = Promise.withResolvers<void>();
      const retired = current.retire(timing.stopMs, () => {
        drained.resolve();
        return release.promise;
      });
      await Promise.race([drained.promise, retired]);
      return async () => {
        release.resolve();
        await retired;
        ended.abort();
        await running;
      };
    },
    async stop() {
      isStopping = true;
      const bye: Bye = { bootId: options.bootId };
      await current?.retire(timing.stopMs, (ask) => ask("bye", bye, ByeReply, timing.stopMs));
      ended.abort();
      await running;
    },
  };
}
