// A proxy between a node and NATS that can drop messages to the node, chosen by subject. Everything else
// passes unchanged.
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface NoticeProxy extends AsyncDisposable {
  port: number;
  /** Drops messages of these subjects from now on; without subjects, drops none. */
  lose(subjects?: RegExp): void;
  /** How many messages were dropped so far. */
  lost(): number;
}

export async function startNoticeProxy(target: { port: number }): Promise<NoticeProxy> {
  const sockets = new Set<Socket>();
  let subjects: RegExp | undefined;
  let lost = 0;
  const isLost = (subject: string) => {
    if (!subjects?.test(subject)) return false;
    lost += 1;
    return true;
  };
  const server = createServer((node) => {
    const nats = connect(target.port, "127.0.0.1");
    for (const socket of [node, nats]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => sockets.delete(socket));
    }
    node.on("close", () => nats.destroy());
    // Bytes that were sent before the end are still delivered.
    nats.on("close", () => node.end());
    node.pipe(nats);
    let waiting: Buffer = Buffer.alloc(0);
    nats.on("data", (chunk: Buffer) => {
      const { passed, rest } = sift(Buffer.concat([waiting, chunk]), isLost);
      waiting = rest;
      if (passed.length > 0) node.write(passed);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    lose: (next) => void (subjects = next),
    lost: () => lost,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The complete frames that pass, and the beginning of an incomplete one. */
function sift(bytes: Buffer, isLost: (subject: string) => boolean) {
  const passed: Buffer[] = [];
  let at = 0;
  for (;;) {
    const end = bytes.indexOf("\r\n", at);
    if (end === -1) break;
    const words = bytes.toString("latin1", at, end).split(" ");
    const isMessage = words[0] === "MSG" || words[0] === "HMSG";
    // The line of a message ends with the payload's size; a line break follows the payload.
    const next = end + 2 + (isMessage ? Number(words.at(-1)) + 2 : 0);
    if (next > bytes.length) break;
    if (!isMessage || !isLost(words[1]!)) passed.push(bytes.subarray(at, next));
    at = next;
  }
  return { passed: Buffer.concat(passed), rest: bytes.subarray(at) };
}
