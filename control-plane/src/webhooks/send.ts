// One attempt to send a message: a POST to a checked address, on a connection of its own. Redirects are not
// followed. Of the answer only the status line is read, by few lines of our own: with node:http, a receiver could keep
// a node busy with endless interim answers, or keep the attempt from ending with an upgrade.
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { DeliveryError } from "@hawser/contract";
import { AddressNotAllowed, NameNotFound, type Address, type Addresses } from "./addresses.ts";
import type { Message } from "./message.ts";

/** The result of an attempt. Delivered if there is no error. */
export interface Attempt {
  status: number | null;
  error: DeliveryError | null;
}

/** How long an attempt may take, from the resolution of the name to the status. */
const attemptMs = 10_000;

/** Never throws. */
export async function send(addresses: Addresses, url: string, message: Message): Promise<Attempt> {
  const signal = AbortSignal.timeout(attemptMs);
  try {
    const target = new URL(url);
    const found = await addresses.find(target, signal);
    const status = await post(target, found, message, signal);
    return { status, error: errorOfStatus(status) };
  } catch (error) {
    return { status: null, error: signal.aborted ? "timeout" : errorOf(error) };
  }
}

/** Tries the next address only if none of the message was sent. */
async function post(
  url: URL,
  addresses: Address[],
  message: Message,
  signal: AbortSignal,
): Promise<number> {
  for (const [at, { address }] of addresses.entries()) {
    const socket = open(url, address);
    try {
      await connected(socket, signal);
    } catch (error) {
      socket.destroy();
      if (signal.aborted || at === addresses.length - 1) throw error;
      continue;
    }
    return exchange(socket, textOf(url, message), signal);
  }
  throw new NameNotFound();
}

function open(url: URL, host: string): Socket {
  const isSecure = url.protocol === "https:";
  const port = Number(url.port || (isSecure ? 443 : 80));
  if (!isSecure) return connect({ host, port });
  const name = url.hostname.replace(/^\[|\]$/g, "");
  const servername = isIP(name) === 0 ? { servername: name } : {};
  return connectTls({ host, port, ...servername, ALPNProtocols: ["http/1.1"] });
}

function connected(socket: Socket, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const event = "encrypted" in socket ? "secureConnect" : "connect";
    socket.once(event, () => resolve());
    // This listener is not removed: an error of a socket without a listener would end the process.
    socket.on("error", reject);
    signal.addEventListener("abort", () => socket.destroy(new Error("Out of time.")), {
      once: true,
    });
  });
}

/** The URL is normalized and the headers are ours, so neither contains a line break. */
function textOf({ host, pathname, search }: URL, { headers, body }: Message): string {
  const lines = Object.entries({
    host,
    connection: "close",
    ...headers,
    "content-length": String(Buffer.byteLength(body)),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${pathname}${search} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}

const longestStatusLine = 1_024;

/** Sends the request and returns the status. Nothing after the status line is read. */
function exchange(socket: Socket, request: string, signal: AbortSignal): Promise<number> {
  return new Promise<number>((resolve, reject) => {
    let received = "";
    socket.on("error", reject);
    socket.on("close", () =>
      reject(signal.aborted ? new Error("Out of time.") : new Error("No answer.")),
    );
    socket.on("data", (part: Buffer) => {
      received += part.toString("latin1", 0, longestStatusLine);
      if (!received.includes("\n") && received.length < longestStatusLine) return;
      const [, status] = /^HTTP\/1\.[01] (\d{3})[ \r\n]/.exec(received) ?? [];
      if (status === undefined) reject(new Error("The answer is not one of HTTP/1.1."));
      else resolve(Number(status));
      socket.destroy();
    });
    socket.write(request);
  });
}

function errorOfStatus(status: number): DeliveryError | null {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? "redirected" : "bad_status";
}

const tlsCodes = /^(?:ERR_TLS|ERR_SSL|EPROTO|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO)/;

function errorOf(error: unknown): DeliveryError {
  if (error instanceof AddressNotAllowed) return "address_not_allowed";
  if (error instanceof NameNotFound) return "name_not_found";
  const { code = "" } = error as { code?: string };
  return tlsCodes.test(code) ? "tls_failed" : "connection_failed";
}
