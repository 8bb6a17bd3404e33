// The running turn of a thread: how it begins, is stopped and ends. This file handles three properties of
// codex:
// - Commands and sub-agents of an interrupted turn keep running.
// - Codex never answers an interrupt of an idle thread.
// - Codex waits for a silent model without limit.
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
  /** Whether the turn is being stopped. */
  isStopped(): boolean;
  /** Codex has accepted the turn. `isNew` is false if the turn is known already. */
  begin(id: string): { isNew: boolean };
  /** Codex has started the turn, so that it can be interrupted. */
  onStarted(): void;
  /** The agent itself has ended; its sub-agents may still run. */
  onFinished(turn: Turn): void;
  onSubAgentEnded(): void;
  onCommandsEnded(): void;
  /** Codex sent something of the turn. */
  onActivity(): void;
  /** A call of the model failed, and codex will repeat it. */
  onRetry(error: TurnError): void;
  abort(): Promise<void>;
  /** Resolves with the id of the running turn, or of the next one that begins. */
  whenBegun(): Promise<string>;
  /** The process has ended. */
  lose(): void;
}

interface Context {
  server: AppServer;
  threadId: string;
  silenceMs: number;
  subAgents: SubAgents;
  hasCommand: () => boolean;
  /** Whether a person is being asked. */
  isWaiting: () => boolean;
  onEnd: (end: TurnEnd) => void;
}

interface Current {
  id: string;
  /** Resolves when the turn can be interrupted, some time after codex has accepted it. */
  started: PromiseWithResolvers<void>;
  ended: PromiseWithResolvers<void>;
  /** How the agent itself ended; its sub-agents may still run. */
  end?: TurnEnd;
  /** How the turn will end, if it is being stopped. */
  stop?: TurnEnd;
  /** Why codex repeats a call of the model; undefined once the model has answered. */
  retry?: TurnError;
}

/** Codex waits as long as the provider asks before it repeats a call, and does not report how long. */
const maxRetryMs = 120_000;
const interruptMs = 10_000;
const cleanUpMs = 3_000;
const settleMs = 1_000;

export function createRunningTurn(context: Context): RunningTurn {
  const { server, threadId, silenceMs, subAgents, hasCommand, isWaiting, onEnd } = context;
  let turn: Current | undefined;
  let begun = Promise.withResolvers<string>();
  let commandsEnded = Promise.withResolvers<void>();

  const end = (own: Current, result: TurnEnd) => {
    silence.stop();
    retries.stop();
    turn = undefined;
    begun = Promise.withResolvers<string>();
    onEnd(result);
    own.ended.resolve();
  };

  /** The turn lasts until its sub-agents have ended, even after the agent's answer. */
  const endWhenDone = () => {
    if (turn?.end && !turn.stop && subAgents.running().length === 0) end(turn, turn.end);
  };

  /** Ends the sub-agents and commands that an interrupted turn leaves running. */
  const endRest = async (own: Current, result: TurnEnd) => {
    const running = subAgents.running();
    const threads = [threadId, ...running.map((each) => each.threadId)];
    commandsEnded = Promise.withResolvers<void>();
    await Promise.allSettled(running.map((each) => server.call("turn/interrupt", each, cleanUpMs)));
    await Promise.allSettled(
      threads.map((id) =>
        server.call("thread/backgroundTerminals/clean", { threadId: id }, cleanUpMs),
      ),
    );
    // Usually codex reports how the command ended.
    if (hasCommand()) await within(settleMs, commandsEnded.promise);
    // The process may have ended meanwhile.
    if (turn !== own) return;
    subAgents.markStopped();
    end(own, result);
  };

  const interrupt = async () => {
    if (!turn) return;
    const own = turn;
    if (own.end) return endRest(own, own.stop ?? own.end);
    try {
      await within(interruptMs, own.started.promise);
      await server.call("turn/interrupt", { threadId, turnId: own.id }, interruptMs);
    } catch (error) {
      // The turn may have ended by itself just before.
      if (turn !== own || own.end) return;
      if (error instanceof CallLate) return server.stop("hung");
      throw new AgentNotReady(`Codex did not stop the turn: ${(error as Error).message}`, {
        cause: error,
      });
    }
    const isOver = await within(interruptMs, own.ended.promise);
    if (!isOver && turn === own) await server.stop("hung");
  };

  const giveUp = (quietMs: number) => {
    if (!turn) return;
    turn.stop ??= turn.retry ? explainTurnError(turn.retry) : explainSilence(quietMs);
    interrupt().catch(() => server.stop("hung"));
  };
  const isBusy = () => isWaiting() || hasCommand();
  const silence = watchSilence(silenceMs, isBusy, giveUp);
  const retries = watchSilence(Math.min(silenceMs, maxRetryMs), isBusy, giveUp);

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
    onStarted: () => turn?.started.resolve(),
    onFinished({ id, status, error }) {
      if (turn?.id !== id) return;
      turn.end =
        status === "failed"
          ? explainTurnError(error)
          : status === "completed"
            ? { outcome: "completed", reason: null }
            : { outcome: "interrupted", reason: "Codex stopped the turn by itself." };
      const isStopped = turn.stop !== undefined || turn.end.outcome === "interrupted";
      if (isStopped) void endRest(turn, turn.stop ?? turn.end);
      else endWhenDone();
    },
    onSubAgentEnded: endWhenDone,
    onCommandsEnded: () => commandsEnded.resolve(),
    onActivity() {
      silence.reset();
      retries.stop();
      delete turn?.retry;
    },
    onRetry(error) {
      if (!turn) return;
      if (!turn.retry) retries.start();
      turn.retry = error;
    },
    async abort() {
      if (!turn) return;
      turn.stop ??= { outcome: "aborted", reason: null };
      await interrupt();
    },
    whenBegun: () => begun.promise,
    lose() {
      silence.stop();
      retries.stop();
      turn?.ended.resolve();
      turn = undefined;
      commandsEnded.resolve();
    },
  };
}
