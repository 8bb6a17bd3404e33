// Asking a host to do something: one signed request with one answer. Without an answer the outcome is
// unknown, so the same command is sent again under the same id until its deadline; the host's journal
// makes that harmless.
import { randomUUID } from "node:crypto";
import { Refusal, received } from "@hawser/contract";
import {
  CommandReply,
  commandSubject,
  hostCommands,
  signCommand,
  type CommandKind,
  type CommandResultOf,
  type HostCommand,
  type PayloadOf,
} from "@hawser/host-protocol";
import { OutcomeUnknown } from "../dispatch/handler.ts";
import { commandKeysToPin } from "./command-key-rotation.ts";
import { FabricDown, FabricTimeout, NoResponders, type Fabric } from "./connection.ts";
import type { Keyring } from "./keyring.ts";

export interface Asking {
  commandId: string;
  actor: { type: string; id: string };
  /** Another node may already have asked the host, under the same id. */
  resumed: boolean;
  signal: AbortSignal;
  /** Whether the host is shown online. If it is, "no responders" means that it is still subscribing. */
  isOnline: boolean;
}

export interface HostAsker {
  /** `instanceId` is the id that callers see. Throws the host's refusal, `host_offline`, or OutcomeUnknown. */
  ask: <Name extends HostCommand>(
    instanceId: string,
    command: Name,
    payload: PayloadOf<Name>,
    asking: Asking,
  ) => Promise<CommandResultOf<Name>>;
  /** Asks a host to read something, which changes nothing there. Throws a refusal, for example `host_offline`. */
  read: <Name extends HostCommand>(
    instanceId: string,
    command: Name,
    payload: PayloadOf<Name>,
    reading: Pick<Asking, "actor" | "isOnline">,
  ) => Promise<CommandResultOf<Name>>;
}

const longestTryMs = 3_000;
/** How long a host may take from its connection to its first subscription; it says hello in between. */
const comingInMs = 1_000;

/** `clock`: hosts refuse commands that this time shows as expired. */
export function createHostAsker(
  fabric: Pick<Fabric, "request">,
  keyring: Keyring,
  clock: () => number = Date.now,
): HostAsker {
  /**
   * Has a host pin the present keys that does not know the one that signs, because it was away during
   * a rotation, or because this node has not read the keys since. Such a command was not carried out.
   */
  async function introduceKeys(instanceId: string, actor: Asking["actor"]): Promise<void> {
    await keyring.refresh();
    const { keys } = keyring;
    if (!keys.secondCommandKey) return;
    const kind = hostCommands.pin_command_keys;
    const now = clock();
    const signed = signCommand(keys.secondCommandKey.privateKey, {
      instanceId,
      commandId: randomUUID(),
      issuedAt: new Date(now).toISOString(),
      body: {
        command: "pin_command_keys",
        deadlineAt: new Date(now + kind.deadlineMs).toISOString(),
        actor,
        payload: { keys: commandKeysToPin(keys) },
      },
    });
    const options = { timeoutMs: longestTryMs };
    await fabric.request(commandSubject(instanceId), JSON.stringify(signed), options);
  }

  const asker: HostAsker = {
    async ask(instanceId, command, payload, { commandId, actor, resumed, signal, isOnline }) {
      const kind = hostCommands[command];
      const now = clock();
      const deadline = now + kind.deadlineMs;
      const sign = () =>
        JSON.stringify(
          signCommand(keyring.keys.commandKey.privateKey, {
            instanceId,
            commandId,
            issuedAt: new Date(now).toISOString(),
            body: { command, deadlineAt: new Date(deadline).toISOString(), actor, payload },
          }),
        );
      let data = sign();
      let isIntroduced = false;
      let mayHaveArrived = resumed;
      /** The host carries out a command that it has received until the deadline, also if it is away now. */
      const unknown = (why: string) =>
        new OutcomeUnknown(`${why} ${command}.`, Math.max(0, deadline - clock()));
      for (;;) {
        const timeoutMs = Math.min(longestTryMs, deadline - clock());
        if (timeoutMs <= 0 || signal.aborted) {
          throw unknown("The host did not answer in time:");
        }
        try {
          const answer = await fabric.request(commandSubject(instanceId), data, { timeoutMs });
          const reply = parseReply(commandId, answer);
          if (isNotGenuine(reply) && !isIntroduced) {
            await introduceKeys(instanceId, actor);
            isIntroduced = true;
            data = sign();
            continue;
          }
          return readReply(command, reply) as CommandResultOf<typeof command>;
        } catch (error) {
          if (error instanceof FabricTimeout) {
            mayHaveArrived = true;
            continue;
          }
          if (error instanceof NoResponders && isOnline && clock() - now < comingInMs) {
            await new Promise((resolve) => setTimeout(resolve, 50));
            continue;
          }
          // A host that cannot be reached now may have acted on an earlier attempt, so the outcome is
          // unknown.
          if (mayHaveArrived && (error instanceof NoResponders || error instanceof FabricDown)) {
            throw unknown("The host disconnected before it answered:");
          }
          throw translate(error);
        }
      }
    },
    async read(instanceId, command, payload, reading) {
      const signal = AbortSignal.timeout(hostCommands[command].deadlineMs);
      const asking = { ...reading, commandId: randomUUID(), resumed: false, signal };
      try {
        return await asker.ask(instanceId, command, payload, asking);
      } catch (error) {
        // For a read it does not matter whether the host acted, only that it does not answer.
        if (error instanceof OutcomeUnknown) throw new Refusal("host_offline", silent);
        throw error;
      }
    },
  };
  return asker;
}

const silent = "The host does not answer. Try again, or check the state of its daemon.";

function parseReply(commandId: string, data: Uint8Array): CommandReply {
  const reply = received(CommandReply).parse(JSON.parse(Buffer.from(data).toString()));
  if (reply.commandId === commandId) return reply;
  throw new Error("A host answered a different command than the one it was asked.");
}

const isNotGenuine = ({ outcome }: CommandReply) =>
  "refusal" in outcome && outcome.refusal.code === "not_genuine";

function readReply(command: HostCommand, reply: CommandReply): unknown {
  const kind: CommandKind = hostCommands[command];
  if ("refusal" in reply.outcome) {
    const { code, message, field } = reply.outcome.refusal;
    const { refusals = [] } = kind;
    // Every action that asks a host lists `daemon_outdated` and `host_refused`; the host's message
    // explains the rest.
    const passed = [...refusals, "daemon_outdated" as const].find((known) => known === code);
    const details = passed === "invalid_input" && field ? { fields: [{ field, message }] } : {};
    if (code === "deadline_passed") throw tooLate(message);
    throw new Refusal(passed ?? "host_refused", message, details);
  }
  return received(kind.result).parse(reply.outcome.result);
}

/** The refusal if a host is needed and is known to be disconnected. */
export const hostOffline = () =>
  new Refusal(
    "host_offline",
    "The host is not connected. Start its daemon, or wait until it is back.",
  );

/** The refusal if the command reached the host after its deadline. The host has done nothing. */
export const tooLate = (message: string) =>
  new Refusal("host_refused", message, { retry: "later" });

/** Whether a host refused with `tooLate`. No other refusal of this code has that advice. */
export const isTooLate = ({ code, details }: Refusal) =>
  code === "host_refused" && details.retry === "later";

function translate(error: unknown): unknown {
  if (error instanceof NoResponders) {
    return hostOffline();
  }
  if (error instanceof FabricDown) {
    return new Refusal(
      "unavailable",
      "The service cannot reach its fabric right now, so no host can be asked. Try again.",
      {
        retryAfterMs: 1000,
      },
    );
  }
  return error;
}
