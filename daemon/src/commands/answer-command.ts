// Answers a command, which must be genuine, for this host and in time. The journal records the command
// before it runs and its outcome before the reply; the same id gets the same outcome.
import { received } from "@hawser/contract";
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
import type { ChangingCommand, CommandContext, Ended } from "./command.ts";

export interface Answer {
  reply: CommandReply;
  endsHost: boolean;
}

export interface CommandOptions extends Omit<CommandContext, "signal"> {
  instanceId: string;
  /** Public key of this host. A command that ends the host must name it. */
  hostKey: string;
  /** A command must be signed by one of these. */
  commandKeys: () => readonly string[];
  /** The time by the control plane's clock, in milliseconds. */
  now: () => number;
  log: Log;
}

/** A command that may run, with the fields of its payload that this daemon knows. */
interface Run {
  name: HostCommand;
  payload: object;
  remainingMs: number;
}

type Refused = Extract<CommandOutcome, { refusal: object }>;

/** undefined if there is nobody to reply to, or no reply may be sent: the control plane then asks again under the same id. */
export type AnswerCommand = (data: Uint8Array) => Promise<Answer | undefined>;

export function createCommands(options: CommandOptions, commands = catalogue): AnswerCommand {
  const { journal, log } = options;
  const running = new Map<string, Promise<Answer>>();
  /** Outcomes that the journal could not record yet. A reply is sent only once it is recorded. */
  const unwritten = new Map<string, () => CommandOutcome>();

  async function carryOut(commandId: string, body: CommandBody): Promise<Answer> {
    const name = knownName(body.command);
    if (name && isForOtherHost(name, body)) {
      const message = "The command names another host key, of an old pairing. It has no effect.";
      return answer(commandId, undefined, refuse("other_host_key", message));
    }
    const settled = unwritten.get(commandId);
    if (settled) return finish(commandId, name, settled);
    if (name && effectOf(name) === "reads") return read(commandId, name, body);
    const begun = journal.commands.begin(commandId, body.command);
    if (begun.state === "done") return answer(commandId, name, begun.outcome);
    const readied = ready(body, name, begun.state === "unfinished");
    if ("refusal" in readied) return finish(commandId, name, () => readied);
    return finish(commandId, name, await run(readied));
  }

  /** Runs a command that only reads. The journal does not record it: the same id reads again. */
  async function read(commandId: string, name: HostCommand, body: CommandBody): Promise<Answer> {
    const readied = ready(body, name, false);
    if ("refusal" in readied) return answer(commandId, name, readied);
    const outcome = await run(readied);
    return answer(commandId, name, outcome());
  }

  /** The run of a genuine, unfinished command, or its refusal. */
  function ready(
    body: CommandBody,
    name: HostCommand | undefined,
    wasInterrupted: boolean,
  ): Run | Refused {
    const payload = name && readPayload(name, body);
    if (!name || !payload) {
      const message = `This host's daemon does not understand "${body.command}". Update it.`;
      return refuse("daemon_outdated", message);
    }
    const remainingMs = Date.parse(body.deadlineAt) - options.now();
    // A deadline that is no date counts as passed.
    const isLate = !(remainingMs > 0);
    if (wasInterrupted && (isLate || !commandOf(name).repeatable)) {
      const message = "The daemon was stopped while it did this. How far it got is not known.";
      return refuse("interrupted", message);
    }
    if (isLate)
      return refuse(
        "deadline_passed",
        "The command reached the host too late, so nothing was done. Call again.",
      );
    return { name, payload, remainingMs };
  }

  /**
   * Checked before the journal is read: a journal outlives a pairing, and may contain a command of the former
   * one as done.
   */
  const isForOtherHost = (name: HostCommand, { payload }: CommandBody) =>
    commandOf(name).endsHost === true && payload["hostKey"] !== options.hostKey;

  /** A command that only reads has neither of the two flags, and needs neither. */
  const commandOf = (name: HostCommand) =>
    commands[name] as Partial<ChangingCommand<HostCommand>> &
      Pick<ChangingCommand<HostCommand>, "run">;

  function answer(
    commandId: string,
    name: HostCommand | undefined,
    outcome: CommandOutcome,
  ): Answer {
    const endsHost = "result" in outcome && name !== undefined && commandOf(name).endsHost === true;
    return { reply: { commandId, outcome }, endsHost };
  }

  async function run({ name, payload, remainingMs }: Run): Promise<() => CommandOutcome> {
    const signal = AbortSignal.timeout(remainingMs);
    try {
      const ended = await commandOf(name).run(payload as never, { ...options, signal });
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
    const command = parseCommand(data);
    if (!command) {
      log.warn("dropped a message that is no command");
      return undefined;
    }
    const { commandId } = command;
    // The journal does not record it: a forger must not be able to settle an id.
    const isSigned = (key: string) => isGenuine(key, options.instanceId, command);
    if (!options.commandKeys().some(isSigned)) {
      log.warn("refused a command", { commandId, reason: "not_genuine" });
      const message =
        "This host does not know the key that signed the command. If the service's command key was replaced while the host was away, pair the host again.";
      return answer(commandId, undefined, refuse("not_genuine", message));
    }
    const body = parseBody(command.body);
    let work = running.get(commandId);
    if (!work) {
      log.info("received a command", {
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
      // The command had not begun, so nothing has happened and a refusal is true.
      if (error instanceof JournalFull && !unwritten.has(commandId)) {
        return answer(commandId, undefined, refuse("journal_full", error.message));
      }
      return undefined;
    }
  };
}

/** A command that one of the keys has signed for this host, without checking anything else; else undefined. */
export function readGenuine(
  data: Uint8Array,
  instanceId: string,
  commandKeys: readonly string[],
): { commandId: string; body: CommandBody } | undefined {
  const command = parseCommand(data);
  if (!command || !commandKeys.some((key) => isGenuine(key, instanceId, command))) return undefined;
  return { commandId: command.commandId, body: parseBody(command.body) };
}

/** A result that is a function may still refuse; then it has written nothing. */
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

const refuse = (code: string, message: string): Refused => ({ refusal: { code, message } });

/** undefined if this daemon does not understand the payload. It ignores fields that it does not know. */
function readPayload(name: HostCommand, { payload }: CommandBody): object | undefined {
  const kind: CommandKind = hostCommands[name];
  return received(kind.payload, { unknownWords: "refuse" }).safeParse(payload).data;
}

function knownName(text: string): HostCommand | undefined {
  return Object.hasOwn(hostCommands, text) ? (text as HostCommand) : undefined;
}

function parseCommand(data: Uint8Array): SignedCommand | undefined {
  try {
    return received(SignedCommand).safeParse(JSON.parse(Buffer.from(data).toString())).data;
  } catch {
    return undefined;
  }
}

/** A newer control plane may sign a body that this daemon cannot parse: its command is "unknown". */
function parseBody(text: string): CommandBody {
  const unknown = {
    command: "unknown",
    deadlineAt: "",
    actor: { type: "unknown", id: "" },
    payload: {},
  };
  try {
    return received(CommandBody).safeParse(JSON.parse(text)).data ?? unknown;
  } catch {
    return unknown;
  }
}
