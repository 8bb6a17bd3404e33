// Asking a host to do something: one signed request, answered once. No answer means that nobody
// knows, so the same command is asked again under the same id until its deadline; the host's journal
// makes that harmless.
import { randomUUID } from "node:crypto";
import { Refusal } from "@hawser/contract";
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
import { FabricDown, FabricTimeout, NoResponders, type Fabric } from "./connection.ts";

export interface Asking {
  commandId: string;
  actor: { type: string; id: string };
  /** Another node may have asked the host already, under the same id. */
  resumed: boolean;
  signal: AbortSignal;
  /** The host is shown online: then nobody listening means that it is just coming in, for a moment. */
  isOnline: boolean;
}

export interface HostAsker {
  /** `instanceId` as callers see it. Throws a refusal of the host's, `host_offline`, or OutcomeUnknown. */
  ask: <Name extends HostCommand>(
    instanceId: string,
    command: Name,
    payload: PayloadOf<Name>,
    asking: Asking,
  ) => Promise<CommandResultOf<Name>>;
  /** Has a host look at something, which leaves no trace there. Throws a refusal, or `host_offline`. */
  read: <Name extends HostCommand>(
    instanceId: string,
    command: Name,
    payload: PayloadOf<Name>,
    reading: Pick<Asking, "actor" | "isOnline">,
  ) => Promise<CommandResultOf<Name>>;
}

const longestTryMs = 3_000;
/** Between a host's connection and its first subscription lies its hello. */
const comingInMs = 1_000;

export function createHostAsker(fabric: Fabric, commandPrivateKey: string): HostAsker {
  const asker: HostAsker = {
    async ask(instanceId, command, payload, { commandId, actor, resumed, signal, isOnline }) {
      const kind = hostCommands[command];
      const now = Date.now();
      const deadline = now + kind.deadlineMs;
      const signed = signCommand(commandPrivateKey, {
        instanceId,
        commandId,
        issuedAt: new Date(now).toISOString(),
        body: { command, deadlineAt: new Date(deadline).toISOString(), actor, payload },
      });
      const data = JSON.stringify(signed);
      let mayHaveArrived = resumed;
      for (;;) {
        const timeoutMs = Math.min(longestTryMs, deadline - Date.now());
        if (timeoutMs <= 0 || signal.aborted) {
          throw new OutcomeUnknown(`The host did not answer ${command} in time.`);
        }
        try {
          const reply = await fabric.request(commandSubject(instanceId), data, { timeoutMs });
          return readReply(command, commandId, reply) as CommandResultOf<typeof command>;
        } catch (error) {
          if (error instanceof FabricTimeout) {
            mayHaveArrived = true;
            continue;
          }
          if (error instanceof NoResponders && isOnline && Date.now() - now < comingInMs) {
            await new Promise((resolve) => setTimeout(resolve, 50));
            continue;
          }
          // A host that cannot be reached now may have acted on an earlier try: nobody knows.
          if (mayHaveArrived && (error instanceof NoResponders || error instanceof FabricDown)) {
            throw new OutcomeUnknown(`The host went away before it answered ${command}.`);
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
        // Whether it looked does not matter to anyone; that it does not answer does.
        if (error instanceof OutcomeUnknown) throw new Refusal("host_offline", silent);
        throw error;
      }
    },
  };
  return asker;
}

const silent = "The host does not answer. Try again, or look at the state of its daemon.";

function readReply(command: HostCommand, commandId: string, data: Uint8Array): unknown {
  const reply = CommandReply.parse(JSON.parse(Buffer.from(data).toString()));
  if (reply.commandId !== commandId)
    throw new Error("A host answered another command than it was asked.");
  if ("refusal" in reply.outcome) {
    const { code, message, field } = reply.outcome.refusal;
    const { refusals = [] }: CommandKind = hostCommands[command];
    // Every action that asks a host lists the last two; the host's own words say the rest.
    const passed = [...refusals, "daemon_outdated" as const].find((known) => known === code);
    const details = passed === "invalid_input" && field ? { fields: [{ field, message }] } : {};
    throw new Refusal(passed ?? "host_refused", message, details);
  }
  return hostCommands[command].result.parse(reply.outcome.result);
}

/** What is said wherever a host is needed and is known not to be there. */
export const hostOffline = () =>
  new Refusal(
    "host_offline",
    "The host is not connected. Start its daemon, or wait until it is back.",
  );

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
