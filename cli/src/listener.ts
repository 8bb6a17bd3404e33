// Whose program listens at an address of this machine. Every user of the machine can listen at a free port, so
// a service that does not run can be impersonated, and would be sent its owner's key.
import { readFileSync } from "node:fs";
import { CommandFailed } from "./command-failed.ts";

/**
 * `unknown`: the certificate of an https:// address decides instead, or this system does not show who listens.
 * Programs of the administrator count as own, because the administrator can read every key anyway.
 */
export type Listener = "own" | "foreign" | "none" | "unknown";

const listening = "0A";
const any4 = "0".repeat(8);
const any6 = "0".repeat(32);
const loopback6 = "00000000000000000000000001000000";

/** `url`: an address of this machine. */
export function listenerAt(url: string): Listener {
  const { hostname, port, protocol } = new URL(url);
  const wanted = addressesOf(hostname);
  if (wanted.length === 0 || protocol === "https:" || !process.getuid) return "unknown";
  const number = Number(port || 80);
  const found = readListeners()?.filter((each) => each.port === number);
  if (!found) return "unknown";
  // The kernel prefers a socket of exactly this address to one of all addresses.
  const exact = found.filter(({ address }) => wanted.includes(address));
  const deciding =
    exact.length > 0 ? exact : found.filter(({ address }) => [any4, any6].includes(address));
  if (deciding.length === 0) return "none";
  const own = [0, process.getuid()];
  return deciding.every(({ uid }) => own.includes(uid)) ? "own" : "foreign";
}

/** `fetch` that sends nothing to a program of another user. */
export const fetchFromOwn: typeof fetch = async (...request) => {
  const [target] = request;
  const url = target instanceof Request ? target.url : String(target);
  const listener = listenerAt(url);
  if (listener === "foreign") {
    throw new CommandFailed(
      `A program of another user listens at ${new URL(url).origin}, where the service of this machine belongs. Nothing was sent to it. Ask that user to end it, or choose another port: hawser up --listen 127.0.0.1:PORT`,
      3,
    );
  }
  // Between this look and the connection, another user's program could begin to listen.
  if (listener === "none") throw refused(new URL(url).host);
  return await fetch(...request);
};

/** As fetch fails if there is no program at the address. */
function refused(host: string): TypeError {
  const cause = Object.assign(new Error(`connect ECONNREFUSED ${host}`), { code: "ECONNREFUSED" });
  return new TypeError("fetch failed", { cause });
}

/** In the kernel's notation, in which each group of four bytes is reversed; empty for other names. */
function addressesOf(hostname: string): string[] {
  if (hostname === "[::1]") return [loopback6];
  if (hostname === "localhost") return [...addressesOf("127.0.0.1"), loopback6];
  const [, ...bytes] = /^(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(hostname) ?? [];
  if (bytes.length === 0) return [];
  const hex = bytes.toReversed().map((byte) => Number(byte).toString(16).padStart(2, "0"));
  const four = hex.join("").toUpperCase();
  return [four, `${"0".repeat(16)}FFFF0000${four}`];
}

/** undefined if this system does not show them. */
function readListeners(): { address: string; port: number; uid: number }[] | undefined {
  const texts = ["/proc/net/tcp", "/proc/net/tcp6"].map((file) => {
    try {
      return readFileSync(file, "utf8");
    } catch {
      return undefined;
    }
  });
  if (texts[0] === undefined) return undefined;
  return texts
    .flatMap((text) => (text ?? "").split("\n").slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[3] === listening)
    .map((fields) => {
      const [address = "", port = ""] = fields[1]!.split(":");
      return { address, port: Number.parseInt(port, 16), uid: Number(fields[7]) };
    });
}
