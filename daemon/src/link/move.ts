// Moves a host to another address of its service. The host keeps the address that works until the new one
// has proven that the service is behind it and has admitted the host (decision 0078). A move is a restart of
// the host with changed credentials, so every part of it uses the new address.
import { randomBytes } from "node:crypto";
import { isServerUrl, readAddressProof, type Nkey } from "@hawser/host-protocol";
import { describe, type Log } from "../log.ts";
import { pause } from "../pause.ts";
import type { Credentials } from "../state/state.ts";
import { backOff } from "./back-off.ts";
import { renewToken } from "./doors.ts";
import { dialAhead } from "./link.ts";
import { createServerClock } from "./server-clock.ts";

export interface MoverOptions {
  key: Nkey;
  credentials: () => Credentials;
  /** Throws if the disk is full. */
  save: (changed: Partial<Credentials>) => void;
  commandKeys: () => readonly string[];
  isOnline: () => boolean;
  /** Whether the host does something that a restart would interrupt. */
  isBusy: () => boolean;
  /** Called when `problem()` returns something else. */
  onProblem: () => void;
  /** Called last: the credentials have another address, and the host is to start again. */
  onMoved: () => void;
  log: Log;
}

export interface Mover {
  /** Call it with each welcome: the address that the service wants this host to use, if it is another. */
  announced: (serverUrl: string | undefined) => void;
  /** Why the host does not use the announced address. */
  problem: () => string | undefined;
  stop: () => Promise<void>;
}

/** The first wait is random, because the service announces its address to all hosts at once. */
const whileOnline = { firstMs: 2_000, longestMs: 10 * 60_000 };
const whileOffline = { firstMs: 2_000, longestMs: 60_000 };
const busyMs = 1_000;
const forever = 2 ** 31 - 1;

export function startMover(options: MoverOptions): Mover {
  const { log, credentials } = options;
  const ended = new AbortController();
  let changed = new AbortController();
  let failures = 0;
  let problem: string | undefined;

  function setProblem(reason: string | undefined, serverUrl?: string): void {
    const next =
      reason &&
      `The service is to be used at ${serverUrl}, and this host stays with ${credentials().serverUrl}. ${reason}`;
    if (next === problem) return;
    problem = next;
    if (next) log.warn("the announced address is not used", { serverUrl, reason });
    options.onProblem();
  }

  function save(changes: Partial<Credentials>): boolean {
    try {
      options.save(changes);
      return true;
    } catch (error) {
      log.warn("the address could not be saved", { error: describe(error) });
      return false;
    }
  }

  function announced(text: string | undefined): void {
    const { serverUrl, nextServerUrl } = credentials();
    const next = text === undefined ? undefined : (URL.parse(text)?.origin ?? text);
    if (next === undefined || next === serverUrl) {
      if (nextServerUrl !== undefined) save({ nextServerUrl: undefined });
      setProblem(undefined);
    } else if (!isServerUrl(next) || (isEncrypted(serverUrl) && !isEncrypted(next))) {
      setProblem(
        "A host never moves from https:// to http://. If this is wanted, pair it again.",
        next,
      );
    } else if (next !== nextServerUrl) {
      save({ nextServerUrl: next });
      failures = 0;
      changed.abort();
    }
  }

  /** The announced address; without a link also the former one, in turns. */
  function choose(): string | undefined {
    const { nextServerUrl, formerServerUrl } = credentials();
    if (options.isOnline()) return nextServerUrl;
    const known = [nextServerUrl, formerServerUrl].filter((each) => each !== undefined);
    return known[failures % Math.max(known.length, 1)];
  }

  async function run(): Promise<void> {
    while (!ended.signal.aborted) {
      const { nextServerUrl, formerServerUrl } = credentials();
      const isIdle = nextServerUrl === undefined && formerServerUrl === undefined;
      const limits = options.isOnline() ? whileOnline : whileOffline;
      changed = new AbortController();
      const waitMs = isIdle ? forever : backOff(failures + 1, limits);
      await pause(waitMs, AbortSignal.any([ended.signal, changed.signal]));
      while (options.isBusy() && !ended.signal.aborted) await pause(busyMs, ended.signal);
      const target = choose();
      if (ended.signal.aborted) return;
      if (target === undefined) {
        // Only the former address is left, for a link that is lost later.
        failures = Math.min(failures + 1, 5);
        continue;
      }
      if (await tryToMove(target)) return options.onMoved();
      failures++;
    }
  }

  async function tryToMove(target: string): Promise<boolean> {
    const { serverUrl, nextServerUrl } = credentials();
    try {
      const token = await getAdmitted(options, target, target === nextServerUrl, ended.signal);
      if (ended.signal.aborted) return false;
      const changes = { serverUrl: target, formerServerUrl: serverUrl, nextServerUrl: undefined };
      if (!save({ ...changes, token })) return false;
      log.info("the host moves to another address of its service", { from: serverUrl, to: target });
      return true;
    } catch (error) {
      if (!ended.signal.aborted && target === nextServerUrl) setProblem(describe(error), target);
      return false;
    }
  }

  const running = run();
  return {
    announced,
    problem: () => problem,
    async stop() {
      ended.abort();
      await running;
    },
  };
}

const isEncrypted = (serverUrl: string) => serverUrl.startsWith("https:");

/** Returns a token from this address. Throws if it does not admit the host, or proves nothing. */
async function getAdmitted(
  { key, credentials, commandKeys }: MoverOptions,
  serverUrl: string,
  mustNameItself: boolean,
  signal: AbortSignal,
): Promise<string> {
  const { instanceId } = credentials();
  const challenge = randomBytes(18).toString("base64url");
  // A clock of its own: an unproven address must not set the host's.
  const clock = createServerClock();
  const isRemoved = () => false;
  const { token, address } = await renewToken(
    { serverUrl, key, clock, isRemoved, challenge },
    signal,
  );
  const named = readAddressProof(address, { hostKey: key.publicKey, challenge }, commandKeys());
  if (named === undefined) {
    throw new Error(`${serverUrl} does not prove that this host's service is behind it.`);
  }
  if (mustNameItself && named !== serverUrl) {
    throw new Error(`The service behind ${serverUrl} says that its address is ${named}.`);
  }
  const connection = await dialAhead({ serverUrl, instanceId, key, token, clock }, signal);
  connection.cut();
  return token;
}
