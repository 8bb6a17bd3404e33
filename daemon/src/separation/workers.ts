// The front's side of a separated host: starts a worker for each Unix user that has work, passes each command to
// the right one, and passes on what workers report. Agents may have taken their worker over, so a worker can only
// speak about sessions of its own.
import { join as joinPath } from "node:path";
import type { AgentKind, HostOperation } from "@hawser/contract";
import { workerAnswers } from "@hawser/host-protocol";
import { createCommands, readGenuine, type Answer } from "../commands/answer-command.ts";
import type { CommandOptions } from "../commands/answer-command.ts";
import { openJournal } from "../journal/journal.ts";
import { systemClock } from "../link/server-clock.ts";
import { describe } from "../log.ts";
import type { Work, WorkOptions } from "../work.ts";
import { createWorkerAsker, downOf, refusal, seeLog, type AskTiming } from "./ask-workers.ts";
import { createJoin, fitting, type JoinedCommand } from "./join-results.ts";
import { openPlaces } from "./places.ts";
import { routeOf, type Route } from "./route.ts";
import type { Separation, UnixUser } from "./separation.ts";
import { endProcesses, startWorker, type Worker, type WorkerOptions } from "./worker-process.ts";
import { createWorkerRequests } from "./worker-requests.ts";

/** What a worker needs to know when it starts. */
export interface Greeting extends LinkState {
  instanceId: string;
  /** Address of the control plane. */
  serverUrl: string;
  hostKey: string;
  bootId: string;
  /** All workers of a host have the journal id of the front: for the control plane the host has one journal. */
  journalId: string;
  agentsDirectory: string;
  policyPath: string;
  /** Whether it uses the host's own logins, and not the accounts of one person. */
  isOwn: boolean;
}

export interface LinkState {
  linkedSince: string | null;
  commandKeys: readonly string[];
  /** The control plane's time at a moment of the machine's uptime; null if it is not known. */
  time: { now: number; uptimeMs: number } | null;
}

export interface WorkersOptions extends WorkOptions {
  separation: Separation;
  /** The program and arguments of a worker, without its own. */
  program: readonly string[];
  /** Starts the process of a worker; by default through sudo. */
  launch?: WorkerOptions["launch"];
  timing?: AskTiming;
  /** Ends everything that runs as a user; by default through sudo. */
  endAll?: (user: string) => Promise<void>;
}

const quickMs = 10_000;
/** The facts of the own worker may be a half of what operations may be: both are in one message. */
const mostFactParts = 2;
/**
 * Without the last account, everything that runs as the person's user has ended within five seconds (N7): a worker that
 * takes longer is ended, and a new one unlinks. If other accounts are left, only a worker that answers nothing is ended.
 */
const lastUnlinkMs = 4_000;
const silentMs = 4_000;
/** Leaves time for another worker to do it, before the command's time limit. */
const unlinkMs = 18_000;
/** Removals beyond these are so old that the control plane sends them no more. */
const mostEnded = 1_000;

export function openWorkers(options: WorkersOptions): Work {
  const { state, instanceId, clock, uplink, log, separation, endAll = endProcesses } = options;
  const { hostKey, bootId, commandKeys } = options.commands;
  const journal = openJournal(state.journalPath(instanceId), {
    ...options.journal,
    now: () => Math.round(clock.now()),
  });
  const places = openPlaces(joinPath(state.directory, "places.sqlite"), instanceId);
  const { own } = separation;
  const workers = new Map<string, Worker>();
  /** The operations that the worker of each user has reported. */
  const operations = new Map<string, HostOperation[]>();
  /** Removals for which the processes of the user were ended, and no worker has answered since. */
  const endedFor = new Set<string>();
  let isClosed = false;

  // Only commands that the front carries out itself reach these; they use nothing of sessions.
  const answerHere = createCommands({
    ...options,
    ...options.commands,
    instanceId,
    journal,
    now: clock.now,
    pinCommandKeys(keys) {
      options.commands.pinCommandKeys(keys);
      tellState();
    },
  } as Partial<CommandOptions> as CommandOptions);

  const isOf = (user: string, sessionId: string) => places.userOfSession(sessionId) === user;
  const join = createJoin({
    isOwner: (user, ownerId) => places.userOfOwner(ownerId) === user,
    isOf,
    sealingKey: () => options.sealing.publicKey(),
  });
  const asker = createWorkerAsker({
    workers: () => workers.values(),
    join,
    timing: options.timing,
    log,
  });

  const linkState = (): LinkState => ({
    linkedSince: uplink.linkedSince() ?? null,
    commandKeys: commandKeys(),
    time: clock.isKnown() ? { now: clock.now(), uptimeMs: systemClock.steady() } : null,
  });

  const refreshFacts = () => void options.commands.refreshFacts().catch(() => {});

  const tellState = () => {
    for (const worker of workers.values()) worker.send("state", linkState());
  };

  function start(of: UnixUser, onReady = refreshFacts): Worker {
    const greeting = (): Greeting => ({
      ...linkState(),
      instanceId,
      serverUrl: options.serverUrl,
      hostKey,
      bootId,
      journalId: journal.id,
      agentsDirectory: state.agentsDirectory,
      policyPath: state.policyPath,
      isOwn: of.user === own.user,
    });
    const worker = startWorker({
      of,
      program: options.program,
      greeting,
      handlers: (few) =>
        createWorkerRequests({
          ...options,
          user: of.user,
          places,
          journalId: journal.id,
          scratchDirectory: joinPath(state.scratchDirectory, `worker-${of.user}`),
          operations,
          refreshFacts,
          few,
        }),
      onReady,
      onProblem: refreshFacts,
      log,
      endAll,
      ...(options.launch && { launch: options.launch }),
    });
    workers.set(of.user, worker);
    return worker;
  }

  /**
   * The user served a person of a former pairing. When its worker starts, it removes the homes of that pairing. What
   * else runs as that user is ended before: it could keep the worker from starting.
   */
  async function cleanUp(of: UnixUser): Promise<void> {
    await endAllOf(of.user);
    if (isClosed) return;
    const worker = start(of, () => {
      workers.delete(of.user);
      void worker.stop({ endsAgents: true }).then(() => endAllOf(of.user));
    });
  }

  /** Never throws. */
  async function endAllOf(user: string): Promise<void> {
    try {
      await endAll(user);
    } catch (error) {
      log.warn("processes of a user were not ended", { user, error: describe(error) });
    }
  }

  /**
   * Without an account, nothing may go on as the user of a person, also not what an agent left in the background. Agents
   * may have taken the worker over: so the front ends them by itself, whatever the worker answers, and asks a new worker,
   * which repeats the answer of an honest one.
   */
  async function unlink(
    worker: Worker,
    commandId: string,
    data: Uint8Array,
    isLast: boolean,
  ): Promise<Answer | undefined> {
    // A machine that is busy starts a worker slowly. Ending that one too would make it start once more.
    if (endedFor.has(commandId)) return asker.askOne(worker, commandId, data);
    const limitMs = isLast ? lastUnlinkMs : unlinkMs;
    const asked = asker.askOne(worker, commandId, data, limitMs).catch((error: unknown) => {
      log.warn("a worker did not unlink", { user: worker.of.user, error: describe(error) });
      return undefined;
    });
    if (worker.of.user === own.user) return asked;
    if (isLast) {
      await asked;
    } else if (!(await isSilent(worker))) {
      const answer = await asked;
      // A login that was not completed leaves a kind, but no account.
      if (worker.problem() !== undefined || (await kindsOf(worker)).length > 0) return answer;
    }
    await worker.endAll();
    if (endedFor.size >= mostEnded) endedFor.clear();
    endedFor.add(commandId);
    const answer = await asker.askOne(worker, commandId, data);
    endedFor.delete(commandId);
    return answer;
  }

  /** Whether a worker that has started does not answer. */
  async function isSilent(worker: Worker): Promise<boolean> {
    if (worker.problem() !== undefined) return false;
    return kindsOf(worker, silentMs).then(
      () => false,
      () => worker.problem() === undefined,
    );
  }

  const kindsOf = async (worker: Worker, limitMs = quickMs) =>
    workerAnswers.kinds.parse(await worker.call("kinds", {}, limitMs));

  /** The worker of a person; undefined if the person has none, and no user is free. */
  function workerOf(ownerId: string, makes: boolean): Worker | undefined {
    const known = places.userOfOwner(ownerId);
    if (known !== undefined) return workers.get(known);
    if (!makes) return undefined;
    const taken = places.users();
    const free = separation.people.find(({ user }) => !taken.includes(user));
    if (!free) return undefined;
    places.bindOwner(ownerId, free.user);
    return start(free);
  }

  async function workerFor(route: Route, commandId: string): Promise<Worker | Answer> {
    const ownWorker = workers.get(own.user)!;
    switch (route.to) {
      case "session":
        return workers.get(places.userOfSession(route.sessionId) ?? own.user) ?? ownWorker;
      case "restore": {
        const user = places.userOfSession(route.parkedId) ?? own.user;
        const isOwner = route.ownerId !== null && places.userOfOwner(route.ownerId) === user;
        if (user !== own.user && !isOwner) return refusal(commandId, "agent_not_ready", otherUser);
        return workers.get(places.bindSession(route.sessionId, user)) ?? ownWorker;
      }
      case "owner": {
        const found = workerOf(route.ownerId, route.makes);
        if (found || !route.makes) return found ?? ownWorker;
        return refusal(commandId, "login_failed", noUserFree);
      }
      case "start": {
        // Without the host's own logins, only the worker of the person can follow the fallback chain to an account.
        const others = options.policy().ownLogins ? [] : route.others;
        // opencode always runs with the host's own logins.
        const wanted = [route.kind, ...others].filter((kind) => kind !== "opencode");
        const hasPerson = route.ownerId !== null && wanted.length > 0;
        const person = hasPerson ? workerOf(route.ownerId!, false) : undefined;
        const refused = person && asker.refuseIfDown(person, commandId);
        if (refused) return refused;
        const accounts: AgentKind[] = person ? await kindsOf(person) : [];
        const chosen = wanted.some((kind) => accounts.includes(kind)) ? person! : ownWorker;
        const { originalId, sessionId } = route;
        if (originalId !== undefined && !isOf(chosen.of.user, originalId)) {
          const isTheirs = person !== undefined && isOf(person.of.user, originalId);
          const why = isTheirs ? withoutAccount(route.kind) : otherUser;
          return refusal(commandId, "agent_not_ready", why);
        }
        return workers.get(places.bindSession(sessionId, chosen.of.user))!;
      }
      default:
        return ownWorker;
    }
  }

  start(own);
  const bound = new Set(places.owners().map(({ user }) => user));
  const former = new Set(places.users().filter((user) => !bound.has(user)));
  for (const of of separation.people) {
    if (bound.has(of.user)) start(of);
    if (former.has(of.user)) void cleanUp(of);
  }

  return {
    journal,
    async answer(data) {
      const command = readGenuine(data, instanceId, commandKeys());
      const route: Route = command ? routeOf(command.body) : { to: "front" };
      if (!command || route.to === "front") return answerHere(data);
      const { commandId, body } = command;
      try {
        if (route.to === "everywhere") {
          const name = body.command as JoinedCommand;
          return await asker.once(commandId, () => asker.everywhere(name, commandId, data));
        }
        const worker = await workerFor(route, commandId);
        if ("reply" in worker) return worker;
        const kind = typeof body.payload["kind"] === "string" ? body.payload["kind"] : null;
        if (route.to === "owner" && route.makes && kind) places.noteKind(route.ownerId, kind);
        if (route.to !== "owner" || body.command !== "unlink_identity")
          return await asker.askOne(worker, commandId, data);
        return await asker.once(commandId, () => {
          const isLast = places.dropKind(route.ownerId, kind) === 0;
          return unlink(worker, commandId, data, isLast);
        });
      } catch (error) {
        log.warn("a command did not reach its worker", { commandId, error: describe(error) });
        return undefined;
      }
    },
    linkedKinds: () => [],
    operations: () => [...operations.values()].flatMap((each) => fitting(each, workers.size)),
    online: tellState,
    offline: tellState,
    async readFacts() {
      // The reason is not here: agents may have written it, and everybody reads the warnings.
      const warnings = [...workers.values()]
        .filter((worker) => worker.problem() !== undefined)
        .map(({ of }) => ({ code: "worker_down", message: `${downOf(of.user)} ${seeLog}` }));
      const worker = workers.get(own.user)!;
      if (worker.problem() !== undefined) return { warnings };
      const found = await worker.call("facts", {}, quickMs);
      const { success, data } = workerAnswers.facts.safeParse(found);
      // The message does not repeat the wrong facts, which may be very long.
      if (!success || fitting([data], mostFactParts).length === 0)
        throw new Error(`The worker of ${own.user} reports facts that are invalid or too long.`);
      return { ...data, warnings: [...data.warnings, ...warnings] };
    },
    async close(ending = { endsAgents: false }) {
      isClosed = true;
      await Promise.all([...workers.values()].map((worker) => worker.stop(ending)));
      if (ending.endsAgents) {
        options.sealing.remove();
        await Promise.all(places.owners().map(({ user }) => endAllOf(user)));
      }
      places.close();
      journal.close();
    },
  };
}

const noUserFree =
  "All Unix users for people on this host are in use. The host's administrator can add more: run the install command again as root, with --separate and a larger number for --people.";
const withoutAccount = (kind: string) =>
  `You have no account of ${kind} on this host. Link one to continue this session with it.`;
const otherUser =
  "The agents of each person run as a Unix user of their own on this host, so a session can be continued only with the same account. Start a new session instead.";
