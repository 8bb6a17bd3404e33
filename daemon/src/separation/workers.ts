// The front's side of a separated host: starts a worker for each Unix user that has work, passes each command to
// the right one, and passes on what workers report. Agents may have taken their worker over, so a worker can only
// speak about sessions of its own.
import { join as joinPath } from "node:path";
import type { HostOperation } from "@hawser/contract";
import {
  ReportReply,
  hostCommands,
  workerAnswers,
  workerCalls,
  type WorkerCalls,
} from "@hawser/host-protocol";
import { createCommands, readGenuine, type Answer } from "../commands/answer-command.ts";
import type { CommandOptions } from "../commands/answer-command.ts";
import { openJournal } from "../journal/journal.ts";
import { systemClock } from "../link/server-clock.ts";
import { describe } from "../log.ts";
import type { Work, WorkOptions } from "../work.ts";
import { createJoin, type JoinedCommand } from "./join-results.ts";
import { blobHandlers } from "./pipe-lane.ts";
import type { Handler, Handlers } from "./pipe.ts";
import { openPlaces } from "./places.ts";
import { routeOf, type Route } from "./route.ts";
import type { Separation, UnixUser } from "./separation.ts";
import { endProcesses, startWorker, type Worker, type WorkerOptions } from "./worker-process.ts";

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
}

const longestCommandMs = 31 * 60_000;
const quickMs = 10_000;
/** A worker makes the front read the facts again at most this often. */
const refreshMs = 1_000;
/** Less than the shortest time limit of a command that all workers carry out. */
const joinMs = 15_000;

export function openWorkers(options: WorkersOptions): Work {
  const { state, instanceId, clock, uplink, log, separation } = options;
  const { hostKey, bootId, commandKeys } = options.commands;
  const journal = openJournal(state.journalPath(instanceId), {
    ...options.journal,
    now: () => Math.round(clock.now()),
  });
  const places = openPlaces(joinPath(state.directory, "places.sqlite"), instanceId);
  const { own } = separation;
  const workers = new Map<string, Worker>();
  const bodies = new TextDecoder();
  /** The operations that the worker of each user has reported. */
  const operations = new Map<string, HostOperation[]>();

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
      handlers: () => handlersFor(of.user),
      onReady,
      log,
      ...(options.launch && { launch: options.launch }),
    });
    workers.set(of.user, worker);
    return worker;
  }

  /** The user served a person of a former pairing. When its worker starts, it removes the homes of that pairing. */
  function cleanUp(of: UnixUser): void {
    const worker = start(of, () => {
      workers.delete(of.user);
      void worker.stop({ endsAgents: true }).then(() => endProcesses(of.user));
    });
  }

  function refuseOthers(user: string, sessions: readonly { sessionId: string }[]): void {
    const other = sessions.find(({ sessionId }) => !isOf(user, sessionId));
    if (!other) return;
    log.warn("a worker spoke about a session of another one", {
      user,
      sessionId: other.sessionId,
    });
    throw new Error("This session belongs to another Unix user of this host.");
  }

  /** What the worker of this user may ask. */
  function handlersFor(user: string): Handlers & { end: () => void } {
    let isRefreshing = false;
    const soonRefresh = () => {
      if (isRefreshing) return;
      isRefreshing = true;
      setTimeout(() => ((isRefreshing = false), refreshFacts()), refreshMs).unref();
    };
    const calls: { [Name in keyof WorkerCalls]: (body: WorkerCalls[Name]) => unknown } = {
      report({ sessions }) {
        refuseOthers(user, sessions);
        return uplink.ask("report", { journalId: journal.id, sessions }, ReportReply);
      },
      introduce({ sessions }) {
        refuseOthers(user, sessions);
        return uplink.introduce(sessions);
      },
      publish({ sessionId, text }) {
        refuseOthers(user, [{ sessionId }]);
        uplink.publish(sessionId, text);
      },
      unseal(wanted) {
        if (places.userOfOwner(wanted.ownerId) !== user) {
          throw new Error("This secret is another person's.");
        }
        return options.sealing.open(wanted);
      },
      sealing_key: () => options.sealing.publicKey(),
      operations(body) {
        operations.set(user, body.operations);
        uplink.factsChanged();
      },
      facts_changed: soonRefresh,
    };
    const handlers = Object.entries(calls).map(([name, call]): [string, Handler] => [
      name,
      (body) => call(workerCalls[name as keyof WorkerCalls].parse(body) as never),
    ]);
    const blobs = blobHandlers(options.lane, joinPath(state.scratchDirectory, `worker-${user}`));
    return {
      ...Object.fromEntries(handlers),
      ...blobs,
      end() {
        blobs.end();
        if (operations.delete(user)) uplink.factsChanged();
      },
    };
  }

  /** Without an account, nothing may go on as the user of a person, also not what an agent left in the background. */
  async function endUnlinked(worker: Worker): Promise<void> {
    if (worker.of.user === own.user) return;
    const kinds = workerAnswers.kinds.parse(await worker.call("kinds", {}, quickMs));
    if (kinds.length === 0) await endProcesses(worker.of.user);
  }

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
        return workers.get(places.bindSession(route.sessionId, user)) ?? ownWorker;
      }
      case "owner": {
        const found = workerOf(route.ownerId, route.makes);
        if (found || !route.makes) return found ?? ownWorker;
        return refusal(commandId, "login_failed", noUserFree);
      }
      case "start": {
        const person = route.ownerId === null ? undefined : workerOf(route.ownerId, false);
        const kinds = person && workerAnswers.kinds.parse(await person.call("kinds", {}, quickMs));
        const chosen = person && kinds!.includes(route.kind) ? person : ownWorker;
        const { originalId, sessionId } = route;
        if (originalId !== undefined && !isOf(chosen.of.user, originalId)) {
          return refusal(commandId, "agent_not_ready", otherUser);
        }
        return workers.get(places.bindSession(sessionId, chosen.of.user))!;
      }
      default:
        return ownWorker;
    }
  }

  /** Throws if the worker does not run: the control plane then sends the command again. */
  async function forward(
    worker: Worker,
    commandId: string,
    data: Uint8Array,
    timeoutMs = longestCommandMs,
  ): Promise<Answer | undefined> {
    const text = bodies.decode(data);
    const answer = workerAnswers.command.parse(await worker.call("command", { text }, timeoutMs));
    // A worker cannot answer another command, nor end the host.
    return answer ? { reply: { ...answer.reply, commandId }, endsHost: false } : undefined;
  }

  /**
   * The joined results of all workers. One that fails or is slow is left out: an agent must not be able to hide
   * everybody's lists. What a worker says about people and sessions of others is left out, too.
   */
  async function everywhere(
    name: JoinedCommand,
    commandId: string,
    data: Uint8Array,
  ): Promise<Answer | undefined> {
    const parts = [...workers.values()].map(async (worker) => {
      try {
        const answer = await forward(worker, commandId, data, joinMs);
        const outcome = answer?.reply.outcome;
        if (!outcome || !("result" in outcome)) return [];
        const result = hostCommands[name].result.parse(outcome.result);
        return [{ of: worker.of.user, result }];
      } catch (error) {
        log.warn("a worker gave no result", { user: worker.of.user, error: describe(error) });
        return [];
      }
    });
    const found = (await Promise.all(parts)).flat();
    const result = await join[name](found as never[]);
    return { reply: { commandId, outcome: { result } }, endsHost: false };
  }

  start(own);
  const bound = new Set(places.owners().map(({ user }) => user));
  const former = new Set(places.users().filter((user) => !bound.has(user)));
  for (const of of separation.people) {
    if (bound.has(of.user)) start(of);
    if (former.has(of.user)) cleanUp(of);
  }

  return {
    journal,
    async answer(data) {
      const command = readGenuine(data, instanceId, commandKeys());
      const route: Route = command ? routeOf(command.body) : { to: "front" };
      if (!command || route.to === "front") return answerHere(data);
      const { commandId, body } = command;
      try {
        if (route.to === "everywhere")
          return await everywhere(body.command as JoinedCommand, commandId, data);
        const worker = await workerFor(route, commandId);
        if ("reply" in worker) return worker;
        const answer = await forward(worker, commandId, data);
        if (body.command === "unlink_identity") await endUnlinked(worker);
        return answer;
      } catch (error) {
        log.warn("a command did not reach its worker", { commandId, error: describe(error) });
        return undefined;
      }
    },
    linkedKinds: () => [],
    operations: () => [...operations.values()].flat(),
    online: tellState,
    offline: tellState,
    async readFacts() {
      return workerAnswers.facts.parse(await workers.get(own.user)!.call("facts", {}, quickMs));
    },
    async close(ending = { endsAgents: false }) {
      await Promise.all([...workers.values()].map((worker) => worker.stop(ending)));
      if (ending.endsAgents) {
        options.sealing.remove();
        await Promise.all(places.owners().map(({ user }) => endProcesses(user)));
      }
      places.close();
      journal.close();
    },
  };
}

const noUserFree =
  "All Unix users for people on this host are in use. The host's administrator can add more: run the install command again as root, with --separate and a larger number for --people.";
const otherUser =
  "The agents of each person run as a Unix user of their own on this host, so a session can be continued only with the same account. Start a new session instead.";

const refusal = (commandId: string, code: string, message: string): Answer => ({
  reply: { commandId, outcome: { refusal: { code, message } } },
  endsHost: false,
});
