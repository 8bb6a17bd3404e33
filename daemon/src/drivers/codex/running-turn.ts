// The turn of a thread that runs: how it begins, how it is stopped, and when it is over. Codex leaves
// commands and sub-agents of an interrupted turn running, answers no interrupt of an idle thread, and says
// nothing for as long as a model says nothing; each of these ends here.
import { within } from "../../pause.ts";
import { AgentNotReady, type TurnEnd } from "../driver.ts";
import { explainSilence } from "../model-failure.ts";
import { watchSilence } from "../silence.ts";
import type { AppServer } from "./app-server.ts";
import { CallLate } from "./connection.ts";
import { explainTurnError } from "./failures.ts";
import type { Turn, TurnError } from "./protocol.ts";
import type { SubAgents } from "./sub-agents.ts";

export interface RunningTurn {
  isRunning(): boolean;
  /** Whether somebody stops it. */
  isStopped(): boolean;
  /** Codex has taken it; `isNew` only for the first word of it. */
  begin(id: string): { isNew: boolean };
  /** Codex says that it has started, so that it can be interrupted. */
  started(): void;
  /** The agent itself has ended. */
  finished(turn: Turn): void;
  subAgentEnded(): void;
  commandEnded(): void;
  /** Something came of it. */
  heard(): void;
  /** A call of the model failed, and codex makes it again. */
  retrying(error: TurnError): void;
  abort(): Promise<void>;
  /** The id of the next one that begins, or of the one that runs. */
  begun(): Promise<string>;
  /** The process is gone. */
  lose(): void;
}

interface Surroundings {
  server: AppServer;
  threadId: string;
  silenceMs: number;
  subAgents: SubAgents;
  hasCommand: () => boolean;
  /** Whether it waits for a person. */
  isWaiting: () => boolean;
  onEnd: (end: TurnEnd) => void;
}

interface Current {
  id: string;
  /** Codex takes a turn before it can be interrupted. */
  started: PromiseWithResolvers<void>;
  ended: PromiseWithResolvers<void>;
  /** How the agent itself ended; its sub-agents may not have. */
  end?: TurnEnd;
  /** How it ends because somebody stops it. */
  stop?: TurnEnd;
  /** Why the model is asked again; nothing when it has answered since. */
  retry?: TurnError;
}

/** Codex waits as long as the provider says before it asks again, and tells nobody how long that is. */
const mostRetryMs = 120_000;
const interruptMs = 10_000;
const cleanMs = 3_000;
const settleMs = 1_000;

export function openRunningTurn(around: Surroundings): RunningTurn {
  const { server, threadId, silenceMs, subAgents, hasCommand, isWaiting, onEnd } = around;
  let turn: Current | undefined;
  let begun = Promise.withResolvers<string>();
  let commandEnded = Promise.withResolvers<void>();

  const end = (own: Current, how: TurnEnd) => {
    silence.stop();
    retries.stop();
    turn = undefined;
    begun = Promise.withResolvers<string>();
    onEnd(how);
    own.ended.resolve();
  };

  /** A sub-agent may outlive the answer of the agent that made it; it is still part of the turn. */
  const endWhenDone = () => {
    if (turn?.end && !turn.stop && subAgents.running().length === 0) end(turn, turn.end);
  };

  /** Codex lets sub-agents and commands run on when a turn is interrupted. */
  const endRest = async (own: Current, how: TurnEnd) => {
    const running = subAgents.running();
    const threads = [threadId, ...running.map((each) => each.threadId)];
    commandEnded = Promise.withResolvers<void>();
    await Promise.allSettled(running.map((each) => server.call("turn/interrupt", each, cleanMs)));
    await Promise.allSettled(
      threads.map((id) =>
        server.call("thread/backgroundTerminals/clean", { threadId: id }, cleanMs),
      ),
    );
    // Mostly codex tells how the command ended.
    if (hasCommand()) await within(settleMs, commandEnded.promise);
    // The process may have been lost meanwhile.
    if (turn !== own) return;
    subAgents.stopped();
    end(own, how);
  };

  const interrupt = async () => {
    if (!turn) return;
    const own = turn;
    if (own.end) return endRest(own, own.stop ?? own.end);
    try {
      await within(interruptMs, own.started.promise);
      await server.call("turn/interrupt", { threadId, turnId: own.id }, interruptMs);
    } catch (error) {
      // It may have ended by itself just before.
      if (turn !== own || own.end) return;
      if (error instanceof CallLate) return server.stop();
      throw new AgentNotReady(`Codex did not stop the turn: ${(error as Error).message}`, {
        cause: error,
      });
    }
    const isOver = await within(interruptMs, own.ended.promise);
    if (!isOver && turn === own) await server.stop();
  };

  const giveUp = (quietMs: number) => {
    if (!turn) return;
    const reason = turn.retry ? explainTurnError(turn.retry) : explainSilence(quietMs);
    turn.stop ??= { outcome: "failed", reason };
    interrupt().catch(() => server.stop());
  };
  const isBusy = () => isWaiting() || hasCommand();
  const silence = watchSilence(silenceMs, isBusy, giveUp);
  const retries = watchSilence(Math.min(silenceMs, mostRetryMs), isBusy, giveUp);

  return {
    isRunning: () => turn !== undefined,
    isStopped: () => turn?.stop !== undefined,
    begin(id) {
      if (turn?.id === id) return { isNew: false };
      const [started, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      turn = { id, started, ended };
      silence.start();
      begun.resolve(id);
      return { isNew: true };
    },
    started: () => turn?.started.resolve(),
    finished({ id, status, error }) {
      if (turn?.id !== id) return;
      turn.end =
        status === "failed"
          ? { outcome: "failed", reason: explainTurnError(error) }
          : status === "completed"
            ? { outcome: "completed", reason: null }
            : { outcome: "interrupted", reason: "Codex stopped the turn by itself." };
      const isStopped = turn.stop !== undefined || turn.end.outcome === "interrupted";
      if (isStopped) void endRest(turn, turn.stop ?? turn.end);
      else endWhenDone();
    },
    subAgentEnded: endWhenDone,
    commandEnded: () => commandEnded.resolve(),
    heard() {
      silence.reset();
      retries.stop();
      delete turn?.retry;
    },
    retrying(error) {
      if (!turn) return;
      if (!turn.retry) retries.start();
      turn.retry = error;
    },
    async abort() {
      if (!turn) return;
      turn.stop ??= { outcome: "aborted", reason: null };
      await interrupt();
    },
    begun: () => begun.promise,
    lose() {
      silence.stop();
      retries.stop();
      turn?.ended.resolve();
      turn = undefined;
      commandEnded.resolve();
    },
  };
}
