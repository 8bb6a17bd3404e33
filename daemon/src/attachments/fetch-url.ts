// Downloads a file from a caller's address. Servers near the daemon may trust it more than they would trust
// the caller. So only https is read, only from addresses on the internet, which are checked when the
// connection is made, and redirects are not followed.
import { lookup } from "node:dns";
import { once } from "node:events";
import { createWriteStream, rmSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { pipeline } from "node:stream/promises";
import { describe } from "../log.ts";
import { isPublicAddress } from "./public-address.ts";

/** Where a caller's address may lead. */
export interface UrlGuard {
  mayReach: (address: string) => boolean;
  ports: readonly number[];
  /** Certificates to trust besides the system's. */
  ca?: string;
}

const publicGuard: UrlGuard = { mayReach: isPublicAddress, ports: [443] };

/** The address cannot be read, or must not be. */
export class UrlRefused extends Error {}

export interface UrlFetch {
  url: string;
  /** Path of the file to write; it does not exist if this throws. */
  path: string;
  longest: number;
  signal: AbortSignal;
}

/** Returns the number of bytes. Throws UrlRefused. */
export async function fetchUrl(
  { url, path, longest, signal }: UrlFetch,
  guard: UrlGuard = publicGuard,
): Promise<number> {
  const target = checkUrl(url, guard);
  const asked = request(target, {
    signal,
    agent: false,
    lookup: guardedLookup(guard),
    headers: { accept: "*/*", "user-agent": "hawser" },
    ...(guard.ca === undefined ? {} : { ca: guard.ca }),
  });
  try {
    asked.end();
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    if (response.statusCode !== 200) {
      const moved = (response.statusCode ?? 0) >= 300 && (response.statusCode ?? 0) < 400;
      const why = moved ? " Redirects are not followed: give the address it leads to." : "";
      throw new UrlRefused(`The address answered with status ${response.statusCode}.${why}`);
    }
    const announced = Number(response.headers["content-length"] ?? 0);
    if (announced > longest) throw tooLarge(longest);
    return await save(response, path, longest, signal);
  } catch (error) {
    rmSync(path, { force: true });
    if (error instanceof UrlRefused) throw error;
    const why = signal.aborted ? "it took too long" : describe(error);
    throw new UrlRefused(`The address could not be read: ${why}`, { cause: error });
  } finally {
    asked.destroy();
  }
}

function checkUrl(url: string, guard: UrlGuard): URL {
  if (!URL.canParse(url)) throw new UrlRefused("The address is not a valid URL.");
  const target = new URL(url);
  if (target.protocol !== "https:") throw new UrlRefused("Only https addresses are read.");
  if (target.username !== "" || target.password !== "") {
    throw new UrlRefused("An address with a user's name or password is not read.");
  }
  const port = target.port === "" ? 443 : Number(target.port);
  if (!guard.ports.includes(port)) throw new UrlRefused(`Port ${port} is not read.`);
  // A literal address needs no look-up, so it is checked here.
  const name = target.hostname.replace(/^\[|\]$/g, "");
  if (isIP(name) !== 0 && !guard.mayReach(name)) throw inside();
  return target;
}

/** Checked where the address is used, so that a second answer of the name server cannot differ. */
function guardedLookup({ mayReach }: UrlGuard): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, []);
      if (!addresses.every(({ address }) => mayReach(address))) return callback(inside(), []);
      if (options.all) return callback(null, addresses);
      const [first] = addresses;
      callback(null, first!.address, first!.family);
    });
  };
}

async function save(
  response: IncomingMessage,
  path: string,
  longest: number,
  signal: AbortSignal,
): Promise<number> {
  let size = 0;
  async function* counted(pieces: AsyncIterable<Buffer>) {
    for await (const piece of pieces) {
      size += piece.length;
      if (size > longest) throw tooLarge(longest);
      yield piece;
    }
  }
  await pipeline(response, counted, createWriteStream(path, { mode: 0o600 }), { signal });
  return size;
}

const inside = () => new UrlRefused("The address does not lead to the internet.");
const tooLarge = (longest: number) =>
  new UrlRefused(`The file is larger than ${longest / (1024 * 1024)} MiB.`);
