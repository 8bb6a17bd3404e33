// Receives the messages of hosts from the fabric and sends the answers. Everything here runs before a
// message is parsed, because any host can send anything at any rate.
//
// Guarantee: an answer is published only below the inbox of the host that sent the message. A node may
// publish on every subject, so a host that could choose the subject would reach other organizations.
import { everyUpSubject, inboxPrefix, readUpSubject, upQueue } from "@hawser/host-protocol";
import type { FabricAccount } from "../fabric/account.ts";
import type { Log } from "../log.ts";
import type { UpCalls } from "./up-calls.ts";

interface Receiving {
  fabric: Pick<FabricAccount, "subscribe">;
  upCalls: UpCalls;
  log: Log;
}

export function receiveUpCalls({ fabric, upCalls, log }: Receiving): void {
  /** Hosts that have named a foreign reply subject. */
  const intruding = new Set<string>();

  fabric.subscribe(
    everyUpSubject,
    { queue: upQueue },
    async ({ subject, replyTo, data, respond }) => {
      const { instanceId, call } = readUpSubject(subject);
      if (!replyTo?.startsWith(`${inboxPrefix(instanceId)}.`)) {
        if (intruding.has(instanceId)) return;
        intruding.add(instanceId);
        log.warn({ instanceId, call, replyTo }, "a host wants its answer outside its own inbox");
        return;
      }
      try {
        const said: unknown = JSON.parse(Buffer.from(data).toString());
        respond(JSON.stringify(await upCalls.answer(instanceId, call, said)));
      } catch (error) {
        // A host that receives no answer sends its message again.
        log.warn({ err: error, instanceId, call }, "a host's message was not accepted");
      }
    },
  );
}
