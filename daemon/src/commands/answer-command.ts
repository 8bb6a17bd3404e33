// Answering a command: it must be genuine, for this host and in time. It is written to the journal
// before it is acted on, and its outcome before it is told; the same id gets the same outcome.
import {
  CommandBody,
  SignedCommand,
  hostCommands,
  isGenuine,
  type CommandKind,
  type CommandOutcome,
  type CommandReply,
  type HostCommand,
} from "@hawser/host-protocol";
import { JournalFull } from "../journal/journal.ts";
import { describe, type Log } from "../log.ts";
import { catalogue } from "./catalogue.ts";
import { CommandRefusal } from "../command-refusal.ts";
import type { Command, CommandContext, Ended } from "./command.ts";

export interface Answer {
  reply: CommandReply;
  endsHost: boolean;
}

export interface CommandOptions extends Omit<CommandContext, "signal"> {
  instanceId: string;
  commandKey: string;
  /** The time by the control plane's clock, in milliseconds. */
  now: () => number;
  log: Log;
}

/** Nothing when there is nobody to answer, or no answer may be given: then the same id is asked again. */
export type AnswerCommand = (data: Uint8Array) => Promise<Answer | undefined>;

export function openCommands(options: CommandOptions, commands = catalogue): AnswerCommand {
  const { journal, log } = options;
  const running = new Map<string, Promise<Answer>>();
  /** Ended, but the journal could not be written: told only once it is. */
  const unwritten = new Map<string, () => CommandOutcome>();

  async function carryOut(commandId: string, body: CommandBody): Promise<Answer> {
    const name = knownName(body.command);
    const settled = unwritten.get(commandId);
    if (settled) return finish(commandId, name, settled);
    if (name && effectOf(name) === "reads") return look(commandId, name, body);
    const begun = journal.commands.begin(commandId, body.command);
    if (begun.state === "done") return answer(commandId, name, begun.outcome);
    const remainingMs = Date.parse(body.deadlineAt) - options.now();
    const objection = object(body, name, remainingMs, begun.state === "unfinished");
    if (objection) return finish(commandId, name, () => objection);
    return finish(commandId, name, await run(name!, body.payload, remainingMs));
  }

  /** What only reads leaves no trace: asked again, the host looks again. */
  async function look(commandId: string, name: HostCommand, body: CommandBody): Promise<Answer> {
    const remainingMs = Date.parse(body.deadlineAt) - options.now();
    const objection = object(body, name, remainingMs, false);
    if (objection) return answer(commandId, name, objection);
    const outcome = await run(name, body.payload, remainingMs);
    return answer(commandId, name, outcome());
  }

  /** Why a command that is genuine and not done yet must not be carried out. */
  function object(
    body: CommandBody,
    name: HostCommand | undefined,
    remainingMs: number,
    wasCut: boolean,
  ): CommandOutcome | undefined {
    if (!name || !hostCommands[name].payload.safeParse(body.payload).success) {
      const message = `This host's daemon does not understand "${body.command}". Update it.`;
      return refuse("daemon_outdated", message);
    }
    // Also true of a date that cannot be read.
    const isLate = !(remainingMs > 0);
    if (wasCut && (isLate || !commands[name].repeatable)) {
      const message = "The daemon was stopped while it did this. How far it got is not known.";
      return refuse("interrupted", message);
    }
    return isLate ? refuse("deadline_passed", "The command reached the host too late.") : undefined;
  }

  function answer(
    commandId: string,
    name: HostCommand | undefined,
    outcome: CommandOutcome,
  ): Answer {
    const endsHost = "result" in outcome && name !== undefined && commands[name].endsHost;
    return { reply: { commandId, outcome }, endsHost };
  }

  async function run(
    name: HostCommand,
    payload: CommandBody["payload"],
    remainingMs: number,
  ): Promise<() => CommandOutcome> {
    const signal = AbortSignal.timeout(remainingMs);
    try {
      const command = commands[name] as Command<HostCommand>;
      const ended = await command.run(payload as never, { ...options, signal });
      return () => conclude(ended);
    } catch (error) {
      if (error instanceof CommandRefusal) return () => refusalOf(error);
      log.warn("a command failed", { command: name, error: describe(error) });
      const refusal = refuse("failed", `The host could not do this: ${describe(error)}`);
      return () => refusal;
    }
  }

  function finish(
    commandId: string,
    name: HostCommand | undefined,
    end: () => CommandOutcome,
  ): Answer {
    unwritten.set(commandId, end);
    const outcome = journal.atOnce(() => {
      const ended = end();
      journal.commands.finish(commandId, ended);
      return ended;
    });
    unwritten.delete(commandId);
    return answer(commandId, name, outcome);
  }

  return async (data) => {
    const command = read(data);
    if (!command) {
      log.warn("a message that is no command was dropped");
      return undefined;
    }
    const { commandId } = command;
    // Not written down: whoever forges an id must not be able to settle it.
    if (!isGenuine(options.commandKey, options.instanceId, command)) {
      log.warn("a command was refused", { commandId, reason: "not_genuine" });
      const message = "The command is not signed by this host's control plane for this host.";
      return answer(commandId, undefined, refuse("not_genuine", message));
    }
    const body = readBody(command.body);
    let work = running.get(commandId);
    if (!work) {
      log.info("a command came", {
        commandId,
        command: body.command,
        actor: `${body.actor.type} ${body.actor.id}`,
      });
      work = carryOut(commandId, body).finally(() => running.delete(commandId));
      running.set(commandId, work);
    }
    try {
      return await work;
    } catch (error) {
      log.warn("the journal could not be written", { commandId, error: describe(error) });
      // Before it was begun nothing has happened, and that may be said.
      if (error instanceof JournalFull && !unwritten.has(commandId)) {
        return answer(commandId, undefined, refuse("journal_full", error.message));
      }
      return undefined;
    }
  };
}

/** A look at the journal in the last moment may still refuse; then nothing was written. */
function conclude(ended: Ended<HostCommand>): CommandOutcome {
  try {
    return { result: typeof ended === "function" ? ended() : ended };
  } catch (error) {
    if (error instanceof CommandRefusal) return refusalOf(error);
    throw error;
  }
}

function refusalOf({ code, message, field }: CommandRefusal): CommandOutcome {
  return { refusal: { code, message, ...(field !== undefined && { field }) } };
}

const effectOf = (name: HostCommand): CommandKind["effect"] => hostCommands[name].effect;

const refuse = (code: string, message: string) => ({ refusal: { code, message } });

function knownName(text: string): HostCommand | undefined {
  return Object.hasOwn(hostCommands, text) ? (text as HostCommand) : undefined;
}

function read(data: Uint8Array): SignedCommand | undefined {
  try {
    return SignedCommand.safeParse(JSON.parse(Buffer.from(data).toString())).data;
  } catch {
    return undefined;
  }
}

/** A genuine body that cannot be read comes from a newer control plane. */
function readBody(text: string): CommandBody {
  const unknown = {
    command: "unknown",
    deadlineAt: "",
    actor: { type: "unknown", id: "" },
    payload: {},
  };
  try {
    return CommandBody.safeParse(JSON.parse(text)).data ?? unknown;
  } catch {
    return unknown;
  }
}
