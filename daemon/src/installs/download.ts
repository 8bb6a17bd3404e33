// Downloads a tarball into a file and checks it against the signed hash while it arrives. An interrupted
// download stays on disk under a name with the hash in it, and the next attempt continues it.
import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { InstallRefused } from "./refused.ts";

export interface Download {
  url: string;
  file: string;
  /** Exact size in bytes. */
  size: number;
  /** In base64. */
  sha512: string;
  onBytes: (count: number) => void;
  signal: AbortSignal;
}

/** A download ends if the server sends nothing for this long. */
const longestSilenceMs = 30_000;
const mostRedirects = 3;
const longestSentence = 64 * 1024;

/** Throws InstallRefused, or the disk's error. */
export async function download(wanted: Download): Promise<void> {
  const { file, size } = wanted;
  await mkdir(dirname(file), { recursive: true });
  let { hash, length } = await hashBeginning(file, size);
  if (length < size) {
    const silence = new AbortController();
    const timer = setTimeout(() => silence.abort(), longestSilenceMs);
    try {
      const signal = AbortSignal.any([wanted.signal, silence.signal]);
      const response = await ask(wanted.url, length, signal);
      if (response.status !== 206) {
        hash = createHash("sha512");
        length = 0;
      }
      await using handle = await open(file, length === 0 ? "w" : "a");
      wanted.onBytes(length);
      for await (const chunk of bodyOf(response, wanted.url)) {
        timer.refresh();
        length += chunk.length;
        if (length > size) break;
        hash.update(chunk);
        await handle.writeFile(chunk);
        wanted.onBytes(chunk.length);
      }
    } catch (error) {
      if (!silence.signal.aborted) throw error;
      throw failed(wanted.url, `it sent nothing for ${longestSilenceMs / 1000} s`);
    } finally {
      clearTimeout(timer);
    }
  } else {
    wanted.onBytes(length);
  }
  if (length < size) throw failed(wanted.url, `it ended after ${length} of ${size} bytes`);
  if (length > size || hash.digest("base64") !== wanted.sha512) {
    await rm(file, { force: true });
    const message = `The file downloaded from ${wanted.url} is not what was published. It is not used.`;
    throw new InstallRefused("damaged", message);
  }
}

const failed = (url: string, why: string, cause?: unknown) =>
  new InstallRefused("download_failed", `The download from ${url} failed: ${why}. Try again.`, {
    cause,
  });

/** Reads what an earlier attempt has left. */
async function hashBeginning(file: string, size: number): Promise<{ hash: Hash; length: number }> {
  const hash = createHash("sha512");
  const found = await stat(file).catch(() => undefined);
  if (!found || found.size > size) return { hash, length: 0 };
  let length = 0;
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) {
    hash.update(chunk as Buffer);
    length += (chunk as Buffer).length;
  }
  return { hash, length };
}

async function ask(address: string, from: number, signal: AbortSignal): Promise<Response> {
  let url = new URL(address);
  const startsOnLoopback = isLoopback(url);
  for (let redirects = 0; ; redirects++) {
    // The hash protects the content; without https, others could still see what a host downloads.
    if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback(url))) {
      throw failed(url.href, "only https:// addresses are used");
    }
    if (isLoopback(url) && !startsOnLoopback) throw failed(address, "it points back at this host");
    const response = await request(url, from, signal);
    if (response.status === 200 || isContinued(response, from)) return response;
    const text = await beginningOf(response);
    const location = response.headers.get("location");
    if (response.status < 300 || response.status > 399 || location === null) {
      throw failed(url.href, sentence(text) ?? `it answered ${response.status}`);
    }
    if (redirects === mostRedirects) throw failed(address, "it is redirected too often");
    url = new URL(location, url);
  }
}

async function request(url: URL, from: number, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(url, {
      headers: {
        "accept-encoding": "identity",
        ...(from > 0 && { range: `bytes=${from}-` }),
      },
      redirect: "manual",
      signal,
    });
  } catch (cause) {
    if (signal.aborted) throw cause;
    throw failed(url.href, "the server cannot be reached", cause);
  }
}

/** The first part of an answer that is not a file, long enough for a sentence of its error. */
async function beginningOf(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const part of response.body ?? []) {
      parts.push(part as Uint8Array);
      length += (part as Uint8Array).length;
      if (length > longestSentence) break;
    }
  } catch {
    return "";
  }
  return Buffer.concat(parts).toString();
}

async function* bodyOf(response: Response, url: string): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of response.body ?? []) yield Buffer.from(chunk as Uint8Array);
  } catch (cause) {
    if ((cause as Error).name === "AbortError") throw cause;
    throw failed(url, "the connection broke", cause);
  }
}

const isContinued = ({ status, headers }: Response, from: number) =>
  status === 206 && headers.get("content-range")?.startsWith(`bytes ${from}-`) === true;

const isLoopback = ({ hostname }: URL) =>
  /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);

/** Message of an error in the control plane's own shape, without its full stop. */
function sentence(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: { message?: unknown } };
    return typeof error?.message === "string" ? error.message.replace(/\.$/, "") : undefined;
  } catch {
    return undefined;
  }
}
