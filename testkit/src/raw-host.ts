// A host that writes the NATS protocol itself, line by line, so that it can send what a client library
// would not, and read the server's answer. It can share a process with the control plane's client.
import { once } from "node:events";
import { connect } from "node:net";
import type { Nkey } from "@hawser/host-protocol";
import { connectLine } from "./nats-greeting.ts";

export interface RawHost extends Disposable {
  /** Every line that the server has sent. */
  lines: string[];
  /** Sends protocol text, and returns the lines that the server sent until it had processed the text. */
  say(text: string): Promise<string[]>;
  /** Waits until the server has closed the socket. */
  untilClosed(): Promise<void>;
}

interface RawHostOptions {
  /** host:port of a WebSocket listener; of a TCP listener if `tcp`. */
  address: string;
  tcp?: boolean;
  token: string;
  key: Nkey;
}

interface Wire {
  send(text: string): void;
  close(): void;
}

const patienceMs = 5_000;

/** Throws the server's error if it refuses the token. */
export async function connectRawHost(options: RawHostOptions): Promise<RawHost> {
  const { token, key } = options;
  const lines: string[] = [];
  let rest = "";
  const waiting = new Set<() => void>();
  const wake = () => {
    for (const go of waiting) go();
    waiting.clear();
  };
  const hear = (text: string) => {
    const parts = (rest + text).split("\r\n");
    rest = parts.pop()!;
    for (const line of parts) {
      if (line === "PING") wire.send("PONG\r\n");
      // The server may send further INFO lines at any time.
      else if (lines.length === 0 || !line.startsWith("INFO ")) lines.push(line);
    }
    wake();
  };
  let over = false;
  const end = () => {
    over = true;
    wake();
  };
  const wire = await (options.tcp ? dialTcp : dialWebSocket)(options.address, hear, end);

  async function until(test: () => boolean): Promise<void> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      late.reject(
        new Error(`The server sent nothing more within the deadline: ${lines.join("\n")}`),
      );
    }, patienceMs);
    try {
      while (!test()) {
        if (over) throw new Error(lines.find((line) => line.startsWith("-ERR")) ?? "closed");
        await Promise.race([late.promise, new Promise<void>((go) => void waiting.add(go))]);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  async function say(text: string): Promise<string[]> {
    const before = lines.length;
    wire.send(`${text}PING\r\n`);
    await until(() => lines.indexOf("PONG", before) !== -1);
    return lines.slice(before, lines.indexOf("PONG", before));
  }

  await until(() => lines.length > 0);
  await say(connectLine(lines[0]!, key, token, "raw"));
  return { lines, say, untilClosed: () => until(() => over), [Symbol.dispose]: () => wire.close() };
}

async function dialWebSocket(
  address: string,
  hear: (text: string) => void,
  end: () => void,
): Promise<Wire> {
  const socket = new WebSocket(`ws://${address}/`);
  socket.binaryType = "arraybuffer";
  socket.addEventListener("message", ({ data }) =>
    hear(Buffer.from(data as ArrayBuffer).toString()),
  );
  socket.addEventListener("close", end);
  await once(socket, "open", { signal: AbortSignal.timeout(patienceMs) });
  return {
    send: (text) => socket.send(Buffer.from(text)),
    close: () => socket.close(),
  };
}

async function dialTcp(
  address: string,
  hear: (text: string) => void,
  end: () => void,
): Promise<Wire> {
  const [host, port] = address.split(":");
  const socket = connect(Number(port), host);
  socket.on("data", (chunk: Buffer) => hear(chunk.toString()));
  socket.on("error", end);
  socket.on("close", end);
  await once(socket, "connect", { signal: AbortSignal.timeout(patienceMs) });
  return { send: (text) => socket.write(text), close: () => socket.destroy() };
}
