// The release that the service publishes: reads and checks its manifest, downloads and checks its files.
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { DaemonManifest, readManifest, type PublishedFile } from "@hawser/host-protocol";

const manifestMs = 10_000;
const largestManifest = 64 * 1024;
/** A download may take long, but must not stand still. */
const silenceMs = 30_000;
const downloadMs = 30 * 60_000;

/** The address of a published file. */
const addressOf = (serverUrl: string, file: string) => new URL(`/releases/${file}`, serverUrl);

/** Throws ManifestRefused, or an error whose message is a sentence. `now`: the service's time. */
export async function readPublished(
  serverUrl: string,
  trustedKeys: readonly string[],
  now: () => number,
): Promise<DaemonManifest> {
  const signal = AbortSignal.timeout(manifestMs);
  const [bytes, signature] = await Promise.all(
    ["daemon.json", "daemon.json.sig"].map(async (file) => {
      const parts: Buffer[] = [];
      const body = await request(addressOf(serverUrl, file), signal);
      await pipeline(body, atMost(largestManifest, file), async (source: AsyncIterable<Buffer>) => {
        for await (const part of source) parts.push(part);
      });
      return Buffer.concat(parts);
    }),
  );
  return readManifest(DaemonManifest, bytes!, signature!, trustedKeys, now());
}

/** The file is on disk and as published when this returns. If it throws, the caller removes the file. */
export async function download(
  serverUrl: string,
  { file, size, sha256 }: PublishedFile,
  target: string,
  onProgress: (bytes: number) => void,
): Promise<void> {
  const stalled = new AbortController();
  const signal = AbortSignal.any([stalled.signal, AbortSignal.timeout(downloadMs)]);
  const late = setTimeout(
    () => stalled.abort(new Error(`The download of ${file} stalled.`)),
    silenceMs,
  );
  const hash = createHash("sha256");
  let received = 0;
  const count = new Transform({
    transform(part: Buffer, _encoding, done) {
      late.refresh();
      hash.update(part);
      onProgress((received += part.length));
      done(undefined, part);
    },
  });
  try {
    const body = await request(addressOf(serverUrl, file), signal);
    const written = createWriteStream(target, { flush: true, mode: 0o600 });
    await pipeline(body, atMost(size, file), count, written, { signal });
  } finally {
    clearTimeout(late);
  }
  if (received < size) throw new Error(`${file} ended after ${received} of ${size} bytes.`);
  if (hash.digest("hex") !== sha256) throw new Error(`${file} is not the file that was signed.`);
}

async function request(address: URL, signal: AbortSignal): Promise<Readable> {
  let response: Response;
  try {
    response = await fetch(address, { redirect: "error", signal });
  } catch (cause) {
    throw new Error(`${address.href} cannot be reached.`, { cause });
  }
  if (!response.ok || !response.body) {
    const why = await sentenceOf(response);
    throw new Error(`${address.href} was answered with ${response.status}.${why}`);
  }
  return Readable.fromWeb(response.body);
}

/** The service's own explanation, such as that it lacks the Node of this platform; empty if there is none. */
async function sentenceOf({ body }: Response): Promise<string> {
  try {
    const parts: Buffer[] = [];
    const source = Readable.fromWeb(body ?? new ReadableStream()).pipe(
      atMost(10_000, "The answer"),
    );
    for await (const part of source) parts.push(part as Buffer);
    const { error } = JSON.parse(Buffer.concat(parts).toString()) as {
      error?: { message?: unknown };
    };
    return typeof error?.message === "string" ? ` ${error.message}` : "";
  } catch {
    return "";
  }
}

/** Limits the download, so that a server cannot fill the disk. */
function atMost(limit: number, file: string): Transform {
  let received = 0;
  return new Transform({
    transform(part: Buffer, _encoding, done) {
      received += part.length;
      if (received > limit) done(new Error(`${file} is longer than it should be.`));
      else done(undefined, part);
    },
  });
}
