// An attacker with a node's credentials for the fabric, but without the key that signs commands: can read
// and send every message there. It uses the TCP client, so it must not share a process with the client of
// hosts.
import { randomUUID } from "node:crypto";
import { connectFabric, type Fabric } from "@hawser/control-plane/fabric/connection.ts";
import { createLog } from "@hawser/control-plane/log.ts";
import {
  CommandReply,
  SignedCommand,
  commandSubject,
  makeSigningKey,
  signCommand,
  type CommandBody,
} from "@hawser/host-protocol";
import type { World } from "./world.ts";

export interface Intruder extends AsyncDisposable {
  fabric: Fabric;
  /** Every command that was sent, oldest first. */
  overheard: SignedCommand[];
  /** Sends a command to a host, and returns "done" or the code of the refusal. */
  command(instanceId: string, command: SignedCommand): Promise<string>;
  /** A command signed with the intruder's own key. */
  forge(instanceId: string, body?: Partial<CommandBody>): SignedCommand;
  /** Answers a host's commands in its place, as failed, until the returned function is called. */
  standInFor(instanceId: string): () => void;
}

export async function openIntruder({ nats }: World): Promise<Intruder> {
  const { keys, urls } = nats!;
  const own = makeSigningKey();
  const fabric = await connectFabric({
    keys: { ...keys, commandKey: own },
    urls,
    name: "intruder",
    log: createLog("silent"),
  });
  const overheard: SignedCommand[] = [];
  const read = (data: Uint8Array) => SignedCommand.parse(JSON.parse(Buffer.from(data).toString()));
  fabric.subscribe("host.*.cmd", {}, ({ data }) => void overheard.push(read(data)));
  await fabric.flush();
  return {
    fabric,
    overheard,
    async command(instanceId, command) {
      const data = JSON.stringify(command);
      // The intruder receives its own request too, and does not answer it.
      const reply = await fabric.request(commandSubject(instanceId), data, { timeoutMs: 5_000 });
      const { outcome } = CommandReply.parse(JSON.parse(Buffer.from(reply).toString()));
      return "refusal" in outcome ? outcome.refusal.code : "done";
    },
    forge: (instanceId, body) =>
      signCommand(own.privateKey, {
        instanceId,
        commandId: randomUUID(),
        issuedAt: new Date().toISOString(),
        body: {
          command: "refresh_host_facts",
          deadlineAt: new Date(Date.now() + 10_000).toISOString(),
          actor: { type: "user", id: "usr_mallory" },
          payload: {},
          ...body,
        },
      }),
    standInFor(instanceId) {
      return fabric.subscribe(commandSubject(instanceId), {}, ({ data, respond }) => {
        const { commandId } = read(data);
        const refusal = { code: "failed", message: "The intruder kept it." };
        respond(JSON.stringify({ commandId, outcome: { refusal } }));
      });
    },
    [Symbol.asyncDispose]: () => fabric.close(),
  };
}
