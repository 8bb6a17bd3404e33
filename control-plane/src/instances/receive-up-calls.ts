// Receives the messages of hosts from the fabric and sends the answers. Everything here runs before a
// message is parsed, because any host can send anything at any rate.
//
// Guarantees: a host that sends more than its share costs a lookup for each message (decision 0032). An
// answer is published only below the inbox of the host that sent the message: a node may publish on
// every subject, so a host that could choose the subject would reach other organizations.
import {
  everyUpSubject,
  inboxPrefix,
  readUpSubject,
  upQueue,
  type Refused,
  type UpCall,
} from "@hawser/host-protocol";
import { createTokenBuckets } from "../dispatch/token-bucket.ts";
import type { FabricAccount, FabricMessage } from "../fabric/account.ts";
import type { Log } from "../log.ts";
import type { UpCalls } from "./up-calls.ts";

interface Receiving {
  fabric: Pick<FabricAccount, "subscribe">;
  upCalls: UpCalls;
  log: Log;
}

/**
 * A daemon sends one report at a time and waits for the answer, which takes at least 5 ms: fewer than
 * 200 a second. It sends the other messages every few seconds at most.
 */
const rate = { perSecond: 200, burst: 400 };
/** By what they cost a node: a hello is a transaction of many statements, a renewal signs a token. */
const costs: Record<UpCall, number> = { report: 1, heartbeat: 1, bye: 1, hello: 20, renew: 100 };
/** Refusals that are sent to one host. A daemon waits after the first; more would serve a flood. */
const refusalRate = { perSecond: 5, burst: 10 };
/** Log lines about messages of one host that failed: one a minute. */
const warningRate = { perSecond: 1 / 60, burst: 1 };

export function receiveUpCalls({ fabric, upCalls, log }: Receiving): void {
  const allowance = createTokenBuckets(rate);
  const refusals = createTokenBuckets(refusalRate);
  const warnings = createTokenBuckets(warningRate);
  /** Hosts whose misuse has been logged, by kind of misuse. */
  const logged = new Set<string>();
  const logOnce = (instanceId: string, call: UpCall, what: string) => {
    if (logged.has(`${instanceId} ${what}`)) return;
    logged.add(`${instanceId} ${what}`);
    log.warn({ instanceId, call }, what);
  };

  async function answer(message: FabricMessage, instanceId: string, call: UpCall): Promise<void> {
    try {
      message.respond(JSON.stringify(await upCalls.answer(instanceId, call, message.data)));
    } catch (error) {
      // A host that receives no answer sends its message again.
      if (warnings.take(instanceId).retryAfterMs !== undefined) return;
      log.warn({ err: error, instanceId, call }, "a host's message was not accepted");
    }
  }

  fabric.subscribe(everyUpSubject, { queue: upQueue }, (message) => {
    const { instanceId, call } = readUpSubject(message.subject);
    // The host chose this word.
    if (!Object.hasOwn(costs, call)) return;
    const { retryAfterMs } = allowance.take(instanceId, costs[call]);
    if (!message.replyTo?.startsWith(`${inboxPrefix(instanceId)}.`)) {
      logOnce(instanceId, call, "a host wants its answer outside its own inbox");
    } else if (retryAfterMs === undefined) {
      void answer(message, instanceId, call);
    } else {
      logOnce(instanceId, call, "a host sends too much; its messages are refused");
      const refused: Refused = { refused: "rate_limited", retryAfterMs };
      const mayAnswer = refusals.take(instanceId).retryAfterMs === undefined;
      if (mayAnswer) message.respond(JSON.stringify(refused));
    }
  });
}
