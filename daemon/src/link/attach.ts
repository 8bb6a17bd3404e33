// Attaches the host to a connection. Sends hello first, because a copy of this host must not receive its
// commands; then subscribes to commands, in the queue group that all connections of the host share.
import {
  HelloReply,
  commandQueue,
  commandSubject,
  type CommandReply,
  type Hello,
} from "@hawser/host-protocol";
import { describe, type Log } from "../log.ts";
import { pause, within } from "../pause.ts";
import { backOff, type BackOff } from "./back-off.ts";
import { close, dial, type Connection, type Dialling } from "./dial.ts";
import { Forgotten } from "./forgotten.ts";
import {
  createUpCalls,
  isUnknownHost,
  waitBefore,
  type Ask,
  type UpCallOptions,
} from "./up-call.ts";

export type Welcome = Exclude<HelloReply, { forget: true } | { refused: string }>;

export interface Attaching extends Dialling, UpCallOptions {
  /** Returns a connection that was made ahead, once; undefined after that. */
  takeDialled: () => Connection | undefined;
  /** Waits between attempts while the control plane does not find this host. */
  unknownHost: BackOff;
  log: Log;
  hello: () => Hello;
  answer: (data: Uint8Array) => Promise<{ reply: CommandReply; endsHost: boolean } | undefined>;
  /** Called after a command that ends the host, when its reply has reached the server. */
  onEnd: () => void;
}

export interface AttachedConnection {
  connection: Connection;
  ask: Ask;
  hello: Hello;
  welcome: Welcome;
  /** Accepts no more commands, replies to the running ones, then runs `last` and closes. */
  retire: (patienceMs: number, last?: (ask: Ask) => Promise<unknown>) => Promise<void>;
}

/** Another machine with this host's key is linked. */
export class DuplicateHost extends Error {}

export async function attach(
  attaching: Attaching,
  signal: AbortSignal,
): Promise<AttachedConnection> {
  const { instanceId, callMs } = attaching;
  const connection = attaching.takeDialled() ?? (await dial(attaching, signal));
  const given = () => connection.cut();
  signal.addEventListener("abort", given);
  try {
    const ask = createUpCalls(connection, attaching);
    const said = await sayHello(attaching, connection, ask, signal);
    const answering = new Set<Promise<void>>();
    const keep = (work: Promise<void>) => {
      answering.add(work);
      void work.finally(() => answering.delete(work));
    };
    const commands = connection.nats.subscribe(commandSubject(instanceId), {
      queue: commandQueue,
      callback: (error, message) => {
        // The credential does not allow the subscription. A link without commands is useless.
        if (error) connection.cut();
        else keep(take(attaching, connection, message));
      },
    });
    if (!(await within(callMs, connection.nats.flush()))) {
      throw new Error("The fabric did not confirm the subscription.");
    }
    return {
      connection,
      ask,
      ...said,
      async retire(patienceMs, last) {
        if (!connection.isClosed()) {
          await within(
            patienceMs,
            commands.drain().catch(() => {}),
          );
          await within(patienceMs, Promise.all(answering));
          await last?.(ask).catch(() => {});
        }
        await close(connection, Math.min(patienceMs, callMs));
      },
    };
  } catch (error) {
    connection.cut();
    throw error;
  } finally {
    signal.removeEventListener("abort", given);
  }
}

const helloWait: BackOff = { firstMs: 500, longestMs: 15_000 };

/** Tries as long as the connection lasts: the fabric may be up before any node is. */
async function sayHello(
  attaching: Attaching,
  connection: Connection,
  ask: Ask,
  signal: AbortSignal,
): Promise<{ hello: Hello; welcome: Welcome }> {
  for (let failures = 1; ; failures++) {
    let waitMs: number;
    try {
      const hello = { ...attaching.hello(), connection: idOf(connection) };
      const reply = await ask("hello", hello, HelloReply);
      if ("refused" in reply) {
        throw new DuplicateHost("Another machine with this host's key is linked.");
      }
      return { hello, welcome: reply };
    } catch (error) {
      const isAnswer = error instanceof Forgotten || error instanceof DuplicateHost;
      if (isAnswer || signal.aborted || connection.isClosed()) throw error;
      attaching.log.warn("hello was not accepted", { error: describe(error) });
      const limits = isUnknownHost(error) ? attaching.unknownHost : helloWait;
      waitMs = waitBefore(error, backOff(failures, limits));
    }
    await Promise.race([pause(waitMs, signal), connection.closed]);
  }
}

/** How the NATS server named the connection in its greeting. */
function idOf({ nats }: Connection): NonNullable<Hello["connection"]> {
  const { server_id: serverId, client_id: clientId } = nats.info!;
  return { serverId, clientId };
}

async function take(
  { answer, onEnd, log }: Attaching,
  connection: Connection,
  message: { data: Uint8Array; respond: (data: string) => boolean },
): Promise<void> {
  try {
    const answered = await answer(message.data);
    if (!answered) return;
    // Throws if the connection was lost in the meantime. The control plane then asks again with the same
    // id, and gets the outcome from the journal.
    message.respond(JSON.stringify(answered.reply));
    if (!answered.endsHost) return;
    await within(2_000, connection.nats.flush());
    onEnd();
  } catch (error) {
    log.warn("a command could not be answered", { error: describe(error) });
  }
}
