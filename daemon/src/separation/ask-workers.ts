// Passes commands from the front to workers: to one, or to all with their results joined. Agents may have taken a
// worker over, or keep it from answering or starting, and other people must not notice that.
import { hostCommands, workerAnswers } from "@hawser/host-protocol";
import type { Answer } from "../commands/answer-command.ts";
import { describe, type Log } from "../log.ts";
import { within } from "../pause.ts";
import { fitting, type Join, type JoinedCommand } from "./join-results.ts";
import { WorkerDown, type Worker } from "./worker-process.ts";

export interface WorkerAsker {
  /** Shares the work on a command with those who ask for it meanwhile. */
  once(commandId: string, work: () => Promise<Answer | undefined>): Promise<Answer | undefined>;
  /** undefined unless the worker has a problem that waiting does not solve. */
  refuseIfDown(worker: Worker, commandId: string): Answer | undefined;
  /** Throws if the worker does not answer: the control plane then sends the command again. */
  askOne(
    worker: Worker,
    commandId: string,
    data: Uint8Array,
    timeoutMs?: number,
  ): Promise<Answer | undefined>;
  /**
   * The joined results of all workers. One that fails or is slow is left out: an agent must not be able to hide
   * everybody's lists. What a worker says about people and sessions of others is left out, too.
   */
  everywhere(name: JoinedCommand, commandId: string, data: Uint8Array): Promise<Answer>;
}

const longestCommandMs = 31 * 60_000;
/**
 * `joinMs`: less than the shortest time limit of a command that all workers carry out. `shortJoinMs`: for a worker
 * that gave no answer the last time.
 */
const usualTiming = { joinMs: 15_000, shortJoinMs: 1_000 };
/** Commands beyond these are so old that the control plane sends them no more. */
const mostBegun = 10_000;

export type AskTiming = Partial<typeof usualTiming>;

export function createWorkerAsker(options: {
  workers: () => Iterable<Worker>;
  join: Join;
  timing: AskTiming | undefined;
  log: Log;
}): WorkerAsker {
  const { workers, join, log } = options;
  const { joinMs, shortJoinMs } = { ...usualTiming, ...options.timing };
  const bodies = new TextDecoder();
  /** Commands that a worker may have begun before it ended. Only the worker can know their outcome. */
  const maybeBegun = new Set<string>();
  /** Work that is done once for a command. The control plane sends a command again if it is not answered soon. */
  const underWay = new Map<string, Promise<Answer | undefined>>();
  /** Users whose worker gave no answer for the last join. */
  const silent = new Set<string>();

  function once(
    commandId: string,
    work: () => Promise<Answer | undefined>,
  ): Promise<Answer | undefined> {
    let running = underWay.get(commandId);
    if (!running) {
      running = work();
      underWay.set(commandId, running);
      void running.catch(() => {}).then(() => underWay.delete(commandId));
    }
    return running;
  }

  function refuseIfDown(worker: Worker, commandId: string): Answer | undefined {
    const problem = worker.problem();
    if (problem === undefined || maybeBegun.has(commandId)) return undefined;
    return refusal(commandId, "worker_down", describeProblem(worker.of.user, problem));
  }

  async function askOne(
    worker: Worker,
    commandId: string,
    data: Uint8Array,
    timeoutMs?: number,
  ): Promise<Answer | undefined> {
    const refused = refuseIfDown(worker, commandId);
    if (refused) return refused;
    try {
      return await forward(worker, commandId, data, timeoutMs);
    } catch (error) {
      if (!(error instanceof WorkerDown)) {
        if (maybeBegun.size >= mostBegun) maybeBegun.delete(maybeBegun.values().next().value!);
        maybeBegun.add(commandId);
      }
      throw error;
    }
  }

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

  /** The answer of one worker. One that gave none the last time delays the others only a little. */
  async function forJoin(
    worker: Worker,
    commandId: string,
    data: Uint8Array,
  ): Promise<Answer | undefined> {
    const { user } = worker.of;
    const problem = worker.problem();
    if (problem !== undefined) throw new WorkerDown(problem);
    const wasSilent = silent.has(user);
    const answered = forward(worker, commandId, data, joinMs);
    answered.then(
      () => silent.delete(user),
      () => silent.add(user),
    );
    if (wasSilent && !(await within(shortJoinMs, answered))) {
      throw new Error("The worker has not answered for some time.");
    }
    return answered;
  }

  async function everywhere(
    name: JoinedCommand,
    commandId: string,
    data: Uint8Array,
  ): Promise<Answer> {
    const parts = [...workers()].map(async (worker) => {
      const { user } = worker.of;
      try {
        const answer = await forJoin(worker, commandId, data);
        const outcome = answer?.reply.outcome;
        if (!outcome || !("result" in outcome)) return [];
        if (fitting([outcome.result], 1).length === 0) throw new Error("The result is too long.");
        const result = hostCommands[name].result.parse(outcome.result);
        return [{ of: user, result }];
      } catch (error) {
        log.warn("a worker gave no result", { user, error: describe(error) });
        return [];
      }
    });
    const found = (await Promise.all(parts)).flat();
    const result = await join[name](found as never[]);
    return { reply: { commandId, outcome: { result } }, endsHost: false };
  }

  return { once, refuseIfDown, askOne, everywhere };
}

export const downOf = (user: string) =>
  `The worker of the Unix user ${user} does not start, so the sessions and accounts of that user cannot be used.`;
export const seeLog = "The host's administrator finds the reason with: hawserd logs";
const describeProblem = (user: string, reason: string) =>
  `${downOf(user)} The reason: ${reason.replace(/\.?$/, ".")} ${seeLog}`;

export const refusal = (commandId: string, code: string, message: string): Answer => ({
  reply: { commandId, outcome: { refusal: { code, message } } },
  endsHost: false,
});
